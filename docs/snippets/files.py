import cellwright


async def main() -> None:
    async with cellwright.Runtime() as rt:
        await rt.files.write("in/sales.csv", "tea,3\nscones,4\n")
        await rt.execute("""
            import csv
            rows = list(csv.reader(open("in/sales.csv")))
            with open("total.txt", "w") as out:
                out.write(str(sum(int(price) for _, price in rows)))
        """)
        print(await rt.files.read_text("total.txt"))
        print([(entry.path, entry.size) for entry in await rt.files.list()])


cellwright.run(main())
