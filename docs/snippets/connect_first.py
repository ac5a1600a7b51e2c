from shop_api import KEY, open_shop

import cellwright

# shown:
CODE = """
order = shop.orders.create(item="jam", count=2)
print(order)
print(order.item, order["item"], order.sent_to, "sent_to" in order)
print([o.item for o in shop.orders.list(status="open")])      # three pages
print(order.notes()[0].text)                                  # GET /orders/8/notes
order.delete()
"""
# end


async def main() -> None:
    with open_shop() as there:
        # shown:
        api = await cellwright.OpenAPI.open(
            "shop.yaml", name="shop", base_url=there.url, credentials=cellwright.Secret(KEY)
        )
        async with api, cellwright.Runtime(scope={"shop": api}) as rt:
            outcome = await rt.execute(CODE)
            print(outcome.stdout, end="")
        # end
        print(*there.log, sep="\n")


cellwright.run(main())
