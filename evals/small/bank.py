"""A toy bank: accounts, transfers, a statement, bills."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from evals.small.checks import equals, every, state
from evals.small.task import Trial, acting, reading, task


@dataclass(frozen=True)
class Payment:
    day: date
    payee: str
    category: str
    amount: int


@dataclass(frozen=True)
class Bill:
    number: int
    payee: str
    due: date
    amount: int


@dataclass(frozen=True)
class Transfer:
    source: str
    target: str
    amount: int


class NotEnoughMoney(Exception):
    """Raised for a transfer or a bill that the account cannot pay. Nothing is moved then."""


BALANCES = {"checking": 1800, "savings": 5200, "holiday": 640}
STATEMENT = (
    Payment(date(2025, 2, 1), "Nordbo Housing", "rent", 950),
    Payment(date(2025, 2, 3), "Green Grocer", "food", 62),
    Payment(date(2025, 2, 7), "City Trains", "travel", 48),
    Payment(date(2025, 2, 11), "Green Grocer", "food", 71),
    Payment(date(2025, 2, 14), "Bistro Luna", "food", 88),
    Payment(date(2025, 2, 19), "Sky Air", "travel", 312),
    Payment(date(2025, 3, 1), "Nordbo Housing", "rent", 950),
    Payment(date(2025, 3, 2), "Green Grocer", "food", 54),
)
BILLS = (
    Bill(1, "Power & Light", date(2025, 3, 20), 400),
    Bill(2, "Roof Repair", date(2025, 3, 12), 1500),
    Bill(3, "Car Insurance", date(2025, 3, 15), 700),
    Bill(4, "Phone", date(2025, 3, 28), 35),
)


class Bank:
    """My accounts, in whole euros. An account is known by its name."""

    def __init__(self) -> None:
        self._balances = dict(BALANCES)
        self._transfers: list[Transfer] = []
        self._bills = {bill.number: bill for bill in BILLS}

    @reading
    def accounts(self) -> list[str]:
        """The names of my accounts."""
        return list(self._balances)

    @reading
    def balance(self, account: str) -> int:
        """What is in an account."""
        if account not in self._balances:
            raise LookupError(f"no account is called {account!r}")
        return self._balances[account]

    @reading
    def payments(self) -> list[Payment]:
        """What was paid from the checking account, the oldest first."""
        return list(STATEMENT)

    @reading
    def bills(self) -> list[Bill]:
        """Bills that are not paid yet, in no particular order."""
        return list(self._bills.values())

    @acting
    def transfer(self, source: str, target: str, amount: int) -> None:
        """Move money from one account to another; NotEnoughMoney if the source has less."""
        if self.balance(source) < amount:
            raise NotEnoughMoney(f"{source} has only {self.balance(source)}")
        self._balances[target] = self.balance(target) + amount
        self._balances[source] -= amount
        self._transfers.append(Transfer(source, target, amount))

    @acting
    def pay(self, bill_number: int) -> None:
        """Pay a bill from the checking account; NotEnoughMoney if that has less."""
        bill = self._bills.get(bill_number)
        if bill is None:
            raise LookupError(f"no unpaid bill has the number {bill_number}")
        if self.balance("checking") < bill.amount:
            raise NotEnoughMoney(f"checking has only {self.balance('checking')}, {bill.payee} wants {bill.amount}")
        self._balances["checking"] -= bill.amount
        del self._bills[bill_number]

    @reading
    def transfers(self) -> list[Transfer]:
        """The transfers that were made, the oldest first."""
        return list(self._transfers)


@task(
    id="bank-total",
    prompt="How much money do I have in all my accounts together?",
    returns=int,
    tags="loop aggregate",
    solution="done(sum(bank.balance(name) for name in bank.accounts()))",
    wrong=("done(bank.balance('savings'))",),
)
def total() -> Trial:
    return Trial(scope={"bank": Bank()}, check=equals(7640))


@task(
    id="bank-transfer",
    prompt="Transfer 250 euros from savings to holiday, and give the new balance of holiday.",
    returns=int,
    tags="effect",
    solution="bank.transfer('savings', 'holiday', 250)\ndone(bank.balance('holiday'))",
    wrong=("done(890)", "bank.transfer('checking', 'holiday', 250)\ndone(bank.balance('holiday'))"),
)
def transfer() -> Trial:
    bank = Bank()
    made = state("transfers", bank.transfers, [Transfer("savings", "holiday", 250)])
    return Trial(scope={"bank": bank}, check=every(equals(890), made))


@task(
    id="bank-by-category",
    prompt="""How much did I pay in February 2025 in each category? Give a dictionary from category to the total of its
        payments.""",
    returns=dict[str, int],
    tags="aggregate",
    solution="""
totals = {}
for payment in bank.payments():
    if (payment.day.year, payment.day.month) == (2025, 2):
        totals[payment.category] = totals.get(payment.category, 0) + payment.amount
done(totals)
""",
    wrong=(
        "totals = {}\nfor p in bank.payments():\n    totals[p.category] = totals.get(p.category, 0) + p.amount\n"
        "done(totals)",
    ),
)
def by_category() -> Trial:
    return Trial(scope={"bank": Bank()}, check=equals({"rent": 950, "food": 221, "travel": 360}))


@task(
    id="bank-even-out",
    prompt="""Bring the checking account to exactly 2000 euros with one transfer from savings, and give the amount you
        transferred.""",
    returns=int,
    tags="lookup effect",
    solution="""
missing = 2000 - bank.balance("checking")
bank.transfer("savings", "checking", missing)
done(missing)
""",
    wrong=("bank.transfer('savings', 'checking', 2000)\ndone(2000)", "done(200)"),
)
def even_out() -> Trial:
    bank = Bank()
    made = state("transfers", bank.transfers, [Transfer("savings", "checking", 200)])
    return Trial(scope={"bank": bank}, check=every(equals(200), made))


@task(
    id="bank-pay-bills",
    prompt="""Pay my bills in the order in which they are due, the earliest first. Leave out a bill that the account
        cannot pay when its turn comes, and go on with the next one. Give the payees that were not paid, in
        alphabetical order.""",
    returns=list[str],
    tags="loop effect error-recovery",
    solution="""
unpaid = []
for bill in sorted(bank.bills(), key=lambda bill: bill.due):
    try:
        bank.pay(bill.number)
    except Exception:
        unpaid.append(bill.payee)
done(sorted(unpaid))
""",
    wrong=(
        "unpaid = []\nfor bill in bank.bills():\n    try:\n        bank.pay(bill.number)\n    except Exception:\n"
        "        unpaid.append(bill.payee)\ndone(sorted(unpaid))",
        "done(['Car Insurance', 'Power & Light'])",
    ),
)
def pay_bills() -> Trial:
    bank = Bank()
    left = state("unpaid", lambda: [bill.number for bill in bank.bills()], [1, 3])
    rest = state("balance", lambda: bank.balance("checking"), 265)
    return Trial(scope={"bank": bank}, check=every(equals(["Car Insurance", "Power & Light"]), left, rest))


TASKS = (total, transfer, by_category, even_out, pay_bills)
