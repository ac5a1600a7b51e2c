import cellwright

# shown:
CODE = """
done = sort.run(stdin="tea 12\\nscones 3\\njam 7\\n", key="2", numeric_sort=True, reverse=True)
print(done.stdout, end="")
done = sort.run("orders.txt", files={"orders.txt": "b\\na\\n"}, output="sorted.txt")
print(done.exit_code, done.files)
print(sort.run("/etc/shadow").stderr, end="")
"""


async def main() -> None:
    async with await cellwright.Command.open("sort") as sort, cellwright.Runtime(scope={"sort": sort}) as rt:
        print((await rt.execute(CODE)).stdout, end="")


# end


cellwright.run(main())
