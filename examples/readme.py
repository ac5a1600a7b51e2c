from dataclasses import dataclass

import cellwright


@dataclass
class Invoice:
    customer: str
    amount: float
    paid: bool


class Ledger:
    def invoices(self, customer: str) -> list[Invoice]:
        """The invoices of a customer."""
        everybody = [("Ada", 80.0, False), ("Bo", 310.5, False), ("Ada", 99.5, False), ("Ada", 20.0, True)]
        return [Invoice(*one) for one in everybody if one[0] == customer]


agent = cellwright.Agent("local", scope={"ledger": Ledger()})  # or "anthropic:…", "openai:…"
result = cellwright.run(agent.run("How much does Ada owe us? Add up what she has not paid.", returns=float))
print(result.value)
