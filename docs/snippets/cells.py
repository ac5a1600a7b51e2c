import cellwright

# shown:
CELLS = [
    "prices = {'tea': 3, 'scones': 4}",  # a last assignment is a value too
    "prices['tea'] * 2",  # names stay
    "import asyncio\nawait asyncio.sleep(0.01, 'slept')",  # await needs no function round it
    "for name in prices: pass",  # no value: None
    "open('notes.txt', 'w')",  # a value that cannot leave the guest: how it prints there
]
# end


async def main() -> None:
    async with cellwright.Runtime() as rt:
        for code in CELLS:
            outcome = await rt.execute(code)
            print(type(outcome.value).__name__, outcome.value)


cellwright.run(main())
