import os
from tempfile import TemporaryDirectory

from shop_api import KEY, open_shop

import cellwright


async def main() -> None:
    with open_shop() as there, TemporaryDirectory() as folder:
        os.environ["CELLWRIGHT_CACHE"] = folder  # a machine that knows nothing yet
        for _ in range(2):
            api = await cellwright.OpenAPI.open(
                "shop.yaml", name="shop", base_url=there.url, credentials=cellwright.Secret(KEY)
            )
            async with api, cellwright.Runtime(scope={"shop": api}) as rt:
                # shown:
                print(await rt.show("shop.reports.get_sales", budget=1000))
                # end
                print((await rt.execute("shop.reports.get_sales()")).value, end="\n\n")


cellwright.run(main())
