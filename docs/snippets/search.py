import asyncio

from cellwright import Runtime


# shown:
class Letters:
    """The post room."""

    def send(self, to: str, text: str, *, urgent: bool = False) -> int:
        """Send a letter, and get its number."""
        return 1

    def waiting(self) -> list[str]:
        """What has not been answered yet."""
        return []


async def main() -> None:
    rt = Runtime(scope={"letters": Letters()})
    for hit in await rt.search("which messages are unanswered", limit=1):
        print(hit)
    print(await rt.show("letters.send", budget=500), end="")


# end


asyncio.run(main())
