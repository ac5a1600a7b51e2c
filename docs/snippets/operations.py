import asyncio

import cellwright


# shown:
class Weather:
    @cellwright.operation(reads=True, timeout_s=0.2)
    async def today(self, city: str) -> str:
        await asyncio.sleep(5 if city == "Atlantis" else 0)
        return f"rain in {city}"


async def main() -> None:
    scope = cellwright.Scope({"weather": Weather()})
    scope.declare("weather.*", read_only=True)  # what is known to read only stays allowed
    async with cellwright.Runtime(scope=scope) as rt:
        for code in ("await weather.today('Bergen')", "await weather.today('Atlantis')"):
            outcome = await rt.execute(code)
            print(outcome.value if outcome.ok else str(outcome.error).splitlines()[-1])


# end


cellwright.run(main())
