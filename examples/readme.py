from dataclasses import dataclass

import toolwright


@dataclass
class Invoice:
    customer: str
    amount: float
    paid: bool


class Ledger:
    def invoices(self) -> list[Invoice]:
        """All invoices."""
        return [Invoice("Ada", 80.0, False), Invoice("Bo", 310.5, True), Invoice("Ada", 99.5, False)]


agent = toolwright.Agent("local", scope={"ledger": Ledger()})  # or "anthropic:…", "openai:…"
result = toolwright.run(agent.run("How much does Ada owe us? Add up what she has not paid.", returns=float))
print(result.value)
