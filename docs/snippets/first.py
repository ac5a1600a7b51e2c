import cellwright


async def main() -> None:
    async with cellwright.Runtime() as rt:
        outcome = await rt.execute("""
            import statistics
            print("working on it")
            statistics.median([3, 1, 4, 1, 5])
        """)
        print(outcome.ok, outcome.value, repr(outcome.stdout), outcome.rung)


cellwright.run(main())
