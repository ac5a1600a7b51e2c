from shop_api import KEY, open_shop

import toolwright
from toolwright.events import ApprovalWanted

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
        api = await toolwright.OpenAPI.open(
            "shop.yaml", name="shop", base_url=there.url, credentials=toolwright.Secret(KEY)
        )
        scope = toolwright.Scope({"shop": api})
        scope.declare("shop.reports", hide=True)
        scope.declare("shop.orders.delete", hide=True)
        scope.declare("shop.orders.create", ask=True)
        async with api, toolwright.Runtime(scope=scope, approve=approve) as rt:
            for cell in CELLS:
                outcome = await rt.execute(cell)
                print(outcome.value if outcome.ok else str(outcome.error).splitlines()[-1])
            print([hit.name for hit in await rt.search("order", limit=3)])


toolwright.run(main())
