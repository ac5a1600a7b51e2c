from shop_api import KEY, open_shop

import cellwright
from cellwright.events import ApprovalWanted

CELLS = [
    "shop.orders.get(2).item",
    "shop.orders.delete(2)",
    "shop.orders.get(2).delete()",
    "shop.orders.create(item='tea', count=100)",
    "shop.reports",
]


async def approve(wanted: ApprovalWanted) -> bool | str:
    print("asked:", wanted.name + wanted.arguments)
    return "that is a lot of tea"


async def main() -> None:
    with open_shop() as there:
        api = await cellwright.OpenAPI.open(
            "shop.yaml", name="shop", base_url=there.url, credentials=cellwright.Secret(KEY)
        )
        # shown:
        scope = cellwright.Scope({"shop": api})
        scope.declare("shop.reports", hide=True)
        scope.declare("shop.orders.delete", hide=True)
        scope.declare("shop.orders.create", ask=True)
        async with api, cellwright.Runtime(scope=scope, approve=approve) as rt:
            for cell in CELLS:
                outcome = await rt.execute(cell)
                print(outcome.value if outcome.ok else str(outcome.error).splitlines()[-1])
            # end
            print([hit.name for hit in await rt.search("order", limit=3)])


cellwright.run(main())
