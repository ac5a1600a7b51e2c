import tempfile

import cellwright
from cellwright.errors import Denied
from cellwright.guard import Hook, HookedCall, Replaced


class Bank:
    def pay(self, iban: str, amount: float) -> str:
        """Pay somebody."""
        return f"paid {amount} to {iban}"


# shown:
async def rounded(call: HookedCall) -> HookedCall:
    iban, amount = call.args
    if amount <= 0:
        raise Denied("an amount is above zero")
    return call.changed(iban.replace(" ", ""), round(amount, 2))


async def brief(call: HookedCall, answer: object) -> Replaced:
    return Replaced(f"{answer} (for {call.user})")


async def main(store: str) -> None:
    hooks = [Hook(operation="bank.pay", before=rounded, after=brief)]
    async with cellwright.Runtime({"bank": Bank()}, hooks=hooks, user="kari", store=store) as rt:
        for code in ("bank.pay('NO93 8601 1117 947', 10.009)", "bank.pay('NO93 8601 1117 947', -1)"):
            outcome = await rt.execute(code)
            print(outcome.value if outcome.ok else str(outcome.error).splitlines()[-1])


# end
with tempfile.TemporaryDirectory() as directory:
    cellwright.run(main(f"sqlite:///{directory}/agents.db"))
