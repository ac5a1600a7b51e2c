from shop_api import KEY, open_shop

import cellwright

CODE = """
import os
print(sorted(os.listdir("servers/shop/orders")))
print(open("servers/shop/_index.txt").readline())
"""


async def main() -> None:
    with open_shop() as there:
        api = await cellwright.OpenAPI.open(
            "shop.yaml", name="shop", base_url=there.url, credentials=cellwright.Secret(KEY)
        )
        async with api, cellwright.Runtime(scope={"shop": api}) as rt:
            # shown:
            for hit in await rt.search("remove an order", limit=2):
                print(hit.signature, "#", hit.summary)
            print(await rt.show("shop.orders.create", budget=2000))
            print(await rt.write_stubs(), "files")
            # end
            print((await rt.execute(CODE)).stdout, end="")


cellwright.run(main())
