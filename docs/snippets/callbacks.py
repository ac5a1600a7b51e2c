from collections.abc import Callable
from typing import Any

import cellwright


class Feed:
    """Tells its listeners of every price, and keeps the list in an order that the guest may choose."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[str, int], Any]] = []

    def on_price(self, listener: Callable[[str, int], Any]) -> None:
        self.listeners.append(listener)

    def publish(self, name: str, price: int) -> None:
        for listener in self.listeners:
            listener(name, price)

    def ordered(self, names: list[str], key: Callable[[str], Any]) -> list[str]:
        return sorted(names, key=key)


# shown:
async def later(callback: cellwright.GuestFunction) -> str:
    return await callback.call_async("from async host code")


async def main() -> None:
    async with cellwright.Runtime(scope={"feed": Feed(), "later": later}) as rt:
        outcome = await rt.execute("""
            seen = {}
            feed.on_price(lambda name, price: seen.update({name: price}))
            feed.publish("tea", 3)
            feed.publish("scones", 4)
            print(seen)
            print(feed.ordered(["bbb", "a", "cc"], key=len))
            await later(str.upper)
        """)
        print(outcome.stdout, outcome.value, sep="")


# end


cellwright.run(main())
