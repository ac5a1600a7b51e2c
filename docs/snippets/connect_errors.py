from shop_api import KEY, open_shop

import cellwright

# shown:
CELLS = {
    "shop.orders.get(99)": [],
    "shop.orders.create(item='tea', count=0)": [],
    "shop.orders.get(1).item": ["broken"],  # a read is asked for again
    "shop.orders.create(item='cups').id": ["busy"],  # 503 with Retry-After: nothing was done, so it is sent again
    "shop.orders.create(item='tea')": ["broken"],  # the line breaks before the answer: nobody knows
}
# end


async def main() -> None:
    with open_shop() as there:
        for key in (KEY, "tea-0000-0000"):
            api = await cellwright.OpenAPI.open(
                "shop.yaml", name="shop", base_url=there.url, credentials=cellwright.Secret(key)
            )
            async with api, cellwright.Runtime(scope={"shop": api}) as rt:
                for code, trouble in CELLS.items() if key == KEY else [("shop.orders.get(1)", [])]:
                    there.trouble, asked = list(trouble), len(there.log)
                    outcome = await rt.execute(code)
                    shown = outcome.value if outcome.ok else str(outcome.error).splitlines()[-1]
                    print(code, f"# {len(there.log) - asked} sent\n   ", str(shown).replace(there.url[7:], "HOST"))


cellwright.run(main())
