import cellwright


class Stock:
    def __init__(self) -> None:
        self.taken = 0

    def take(self, item: str, *, count: int = 1) -> int:
        self.taken += count
        return self.taken


async def main() -> None:
    # shown:
    stock = Stock()
    async with cellwright.Runtime(scope={"stock": stock}, check="strict") as rt:
        outcome = await rt.execute("stock.take('tea')\nstock.take('scones', number=3)")
        print(outcome.error)
        print("taken:", stock.taken)
    # end


cellwright.run(main())
