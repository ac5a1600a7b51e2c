import asyncio

import cellwright


async def lookup(name: str) -> str:
    """An API that takes its time."""
    await asyncio.sleep(0.2)
    return name.title()


# shown:
def show(event: cellwright.Event) -> None:
    match event:
        case cellwright.Printed(text=text):
            print("printed ", text.strip())
        case cellwright.CallStarted(name=name):
            print("started ", name)
        case cellwright.CallFinished(name=name, error=error):
            print("finished", name, error or "well")
        case _:
            pass  # what an agent does


# end


async def main() -> None:
    async with cellwright.Runtime(scope={"lookup": lookup}) as rt:
        # shown:
        outcome = await rt.execute(
            """
            import asyncio
            print("asking for two at once")
            await asyncio.gather(lookup("ada"), lookup("grace"))
            """,
            on_event=show,
        )
        # end
        print(outcome.value)


cellwright.run(main())
