from dataclasses import dataclass

import cellwright


# shown:
@dataclass(frozen=True)
class Line:  # data without methods: copied over
    item: str
    price: int


class Order:  # methods: stays here, the guest gets a handle
    def __init__(self, number: int) -> None:
        self.number = number
        self.lines: list[Line] = []

    def add(self, item: str, *, price: int = 1) -> Line:
        """Add a line to this order."""
        self.lines.append(Line(item, price))
        return self.lines[-1]

    def __len__(self) -> int:
        return len(self.lines)


# end


class Shop:
    def __init__(self) -> None:
        self.orders: dict[int, Order] = {}

    def order(self, number: int) -> Order:
        """The order of this number, opened if it is new."""
        return self.orders.setdefault(number, Order(number))


async def main() -> None:
    shop = Shop()
    async with cellwright.Runtime(scope={"shop": shop}) as rt:
        # shown:
        outcome = await rt.execute("""
            order = shop.order(7)                    # an object that nobody bound: it entered scope as a result
            line = order.add("tea", price=3)
            order.add("scone")
            print(line.item, line.price, len(order), order is shop.order(7))
            order                                    # handed back, it is the object itself
        """)
        # end
        print(outcome.stdout, end="")
        print(outcome.value is shop.orders[7], [line.item for line in shop.orders[7].lines])
        print([call.name for call in outcome.calls])
        print(await rt.show("shop.order"))


cellwright.run(main())
