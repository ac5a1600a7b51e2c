import cellwright


class Basket:
    def __init__(self) -> None:
        self.items = ["tea"]

    def append(self, item: str) -> None:
        self.items.append(item)


async def main() -> None:
    # shown:
    copied, held = ["tea"], Basket()
    async with cellwright.Runtime(scope={"copied": copied, "held": held}) as rt:
        outcome = await rt.execute("""
            copied.append("scones")      # the guest's own copy
            held.append("scones")        # a call to the host's object
            copied
        """)
        print(outcome.value, copied, held.items)
    # end


cellwright.run(main())
