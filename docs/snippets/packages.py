import sys

import cellwright


async def main() -> None:
    async with cellwright.Runtime() as bare, cellwright.Runtime(packages=sys.prefix) as full:
        for rt in (bare, full):
            outcome = await rt.execute("""
                from rich.text import Text
                Text.from_markup("[bold]here[/bold]").plain
            """)
            print(outcome.value if outcome.ok else str(outcome.error).splitlines()[-1])


cellwright.run(main())
