import sys

import toolwright


async def main() -> None:
    async with toolwright.Runtime() as bare, toolwright.Runtime(packages=sys.prefix) as full:
        for rt in (bare, full):
            outcome = await rt.execute("""
                from rich.text import Text
                Text.from_markup("[bold]here[/bold]").plain
            """)
            print(outcome.value if outcome.ok else str(outcome.error).splitlines()[-1])


toolwright.run(main())
