import cellwright
from cellwright.events import ApprovalWanted
from cellwright.guard import RateLimit


class Mail:
    def send(self, to: str, text: str) -> str:
        """Send a mail."""
        return f"sent to {to}"


class Bank:
    @cellwright.operation(reads=True)
    def balance(self) -> int:
        """What is there."""
        return 1_200

    def pay(self, iban: str, amount: float) -> str:
        """Pay somebody."""
        return f"paid {amount}"


async def nobody(wanted: ApprovalWanted) -> bool:
    return False


# shown:
policy = cellwright.Policy(
    rules=(
        cellwright.PolicyRule(
            operation="bank.pay", arguments={"amount": "> 1000"}, action="deny", why="call accounting"
        ),
        cellwright.PolicyRule(operation="mail.send", arguments={"to": "*@firm.example"}, action="allow"),
        cellwright.PolicyRule(operation="mail.*", user="intern*", action="deny"),
        cellwright.PolicyRule(kind="writes", action="ask"),
    ),
    limits=(RateLimit(operation="mail.*", most=20, within="1h", per="user"),),
)
scope = {"mail": Mail(), "bank": Bank()}


async def main() -> None:
    async with cellwright.Runtime(scope, policy=policy, user="intern-7", approve=nobody) as rt:
        for code in (
            "mail.send('ann@firm.example', 'hello')",
            "mail.send('eve@evil.example', 'hello')",
            "bank.balance()",
            "bank.pay('NO93 8601 1117 947', 5000)",
            "bank.pay('NO93 8601 1117 947', 50)",
        ):
            outcome = await rt.execute(code)
            print(outcome.value if outcome.ok else str(outcome.error).splitlines()[-1])


# end
cellwright.run(main())
