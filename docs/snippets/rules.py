import cellwright


class Accounts:
    def __init__(self) -> None:
        self.rows = {"ada": 120, "grace": 990}
        self.api_key = "sk-not-for-guests"

    def balance(self, name: str) -> int:
        return self.rows[name]

    def transfer(self, source: str, target: str, amount: int) -> None:
        self.rows[source] -= amount
        self.rows[target] += amount

    def close_all(self) -> None:
        self.rows.clear()


async def main() -> None:
    # shown:
    scope = cellwright.Scope({"accounts": Accounts()})
    scope.declare("accounts.*", hide=["close_all"], read_only=True)
    scope.declare("accounts.balance", reads=True)
    async with cellwright.Runtime(scope=scope) as rt:
        for code in (
            "accounts.balance('ada')",
            "accounts.transfer('ada', 'grace', 100)",
            "accounts.close_all()",
            "accounts.api_key",  # a preset hides what is called so on any object
            "accounts.rows = {}",
        ):
            outcome = await rt.execute(code)
            print(outcome.value if outcome.ok else str(outcome.error).splitlines()[-1])
    # end


cellwright.run(main())
