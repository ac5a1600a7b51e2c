import cellwright
from cellwright.catalog import TypeChecker
from cellwright.scope import Scope


# shown:
class Stock:
    def take(self, item: str, *, count: int = 1) -> int:
        return 0

    async def order(self, item: str, count: int) -> str:
        return "ordered"


async def main() -> None:
    checker = TypeChecker(Scope({"stock": Stock()}))
    earlier = ["wanted = {'tea': 3, 'scones': 12}"]
    for code in (
        "left = {item: stock.take(item, count=n) for item, n in wanted.items()}",
        "stock.take('tea', number=3)",
        "stock.order('tea', wanted['tea'])",
    ):
        mistakes = await checker.check(code, before=earlier)
        print(*mistakes or ["nothing wrong"], sep="\n", end="\n\n")
    await checker.close()


# end


cellwright.run(main())
