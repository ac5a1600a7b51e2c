"""What the soak runs: random cells, each with what must be true after it; and host objects that keep a ledger."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.journal.crash.desk import Desk

from cellwright import operation
from cellwright.scope import Undoing
from cellwright.store import Store

TAKEN = "the value of the cell"  # of a name whose value chance, the clock or a person decides
# Kinds of cells, and how often each comes. "wrong" is for sessions with strict checks alone.
PURE = {"number": 3, "rebound": 3, "reads": 2, "file": 3, "function": 2, "error": 2, "chance": 2, "wrong": 2}
EFFECTS = {"effect": 3, "gathered": 3, "booked": 2, "undone": 2, "paid": 1, "callback": 1, "slow": 1}


def _unbook(what: str, call: Undoing) -> None:
    call.target.effects.append("unbook", [what])


class SoakDesk(Desk):
    """Besides the desk of the crash tests: an effect that can be undone, and one that a person must allow."""

    @operation(undo=_unbook)
    def book(self, what: str) -> str:
        self.effects.append("book", [what])
        return what

    @operation(ask=True)
    async def pay(self, what: str) -> str:
        self.effects.append("pay", [what])
        return f"paid {what}"


@dataclass(kw_only=True)
class Expected:
    """What is true when cells ran to their end: names, files, effects by their ids (once, or made and undone)."""

    names: dict[str, Any] = field(default_factory=dict[str, Any])
    files: dict[str, str] = field(default_factory=dict[str, str])
    once: list[str] = field(default_factory=list[str])
    undone: list[str] = field(default_factory=list[str])


@dataclass(kw_only=True)
class Cell(Expected):
    """`fails`: it ends with an error of its own. `wrong`: the strict type check refuses it."""

    code: str
    fails: bool = False
    wrong: bool = False


@dataclass(kw_only=True)
class SessionModel(Expected):
    """What is expected of one session, in a file, so that the next process knows it too. Written while it is held."""

    id: str
    strict: bool
    length: int  # cells, after which it is left as it is
    cells: int = 0
    effects: int = 0
    never: list[str] = field(default_factory=list[str])  # effects that a person said no to
    last: int = 0  # the last cell that is known to be over
    pending: dict[str, Any] = field(default_factory=dict[str, Any])  # the `Cell` that may be under way
    broken: bool = False  # a failure was reported: nothing more is expected

    def write(self, place: Path) -> None:
        temporary = place / f"{self.id}.tmp"
        temporary.write_text(json.dumps(asdict(self)))
        temporary.rename(place / f"{self.id}.json")

    @classmethod
    def read(cls, file: Path) -> SessionModel:
        return cls(**json.loads(file.read_text()))

    def next_id(self) -> str:
        """The id of an effect: its argument, which no other effect has."""
        self.effects += 1
        return f"{self.id}/{self.effects}"

    def took(self, cell: Cell, value: Any) -> None:
        """The cell ran to its end."""
        names = {name: value if known == TAKEN else known for name, known in cell.names.items()}
        self.names |= json.loads(json.dumps(names))
        self.files |= cell.files
        self.once += cell.once
        self.undone += cell.undone

    def lost(self, cell: Cell, *, names: bool = False) -> None:
        """The cell was ended from outside: what it wrote into files is not known, and its `names` may be set."""
        self.files = {path: text for path, text in self.files.items() if path not in cell.files}
        self.names = {name: value for name, value in self.names.items() if not names or name not in cell.names}

    def look(self) -> str:
        """Code whose value is `[self.names, self.files]`."""
        names = ", ".join(f"{name!r}: {name}" for name in sorted(self.names))
        return f"[{{{names}}}, {{path: open(path).read() for path in {sorted(self.files)}}}]"


def random_cell(model: SessionModel, rng: random.Random) -> Cell:
    kinds = {kind: weight for kind, weight in (PURE | EFFECTS).items() if kind != "wrong" or model.strict}
    kind = rng.choices(list(kinds), list(kinds.values()))[0]
    name, number = f"n{rng.randrange(8)}", rng.randrange(1000)
    numbers = [known for known, value in model.names.items() if type(value) is int]
    match kind:
        case "rebound" if numbers:
            other = rng.choice(numbers)
            return Cell(code=f"{name} = {other} % 997 + 1", names={name: model.names[other] % 997 + 1})
        case "reads":
            code = f"{name} = [desk.look_now(i) for i in range(2)] + list(desk.pages(2))"
            return Cell(code=code, names={name: ["seen 0", "seen 1", 0, 1]})
        case "file":
            path, text = f"f{number % 4}.txt", str(rng.random()) * rng.randrange(1, 200)
            code = f"with open({path!r}, 'w') as file:\n    {name} = file.write({text!r})"
            return Cell(code=code, names={name: len(text)}, files={path: text})
        case "function":
            scaled = "def scaled(x: int) -> int:\n    return x * Scale.by"
            code = f"class Scale:\n    by = {number}\n{scaled}\n{name} = scaled(7)"
            return Cell(code=code, names={name: 7 * number})
        case "error":
            return Cell(code=f"{name} = 5\nraise ValueError('as it should')", names={name: 5}, fails=True)
        case "chance":
            code = f"import random, time, uuid\n{name} = [random.random(), time.time(), str(uuid.uuid4())]"
            return Cell(code=code, names={name: TAKEN})
        case "wrong":
            calls = ["desk.book(1)", "desk.no_such()", "await desk.send()"]
            return Cell(code=f"{name} = {rng.choice(calls)}", names={name: TAKEN}, wrong=True)
        case "number" | "rebound":
            return Cell(code=f"{name} = {number} * 7 + len('ab')", names={name: number * 7 + 2})
        case _:
            return _with_effects(kind, name, [model.next_id() for _ in range(3)], rng)


def _with_effects(kind: str, name: str, ids: list[str], rng: random.Random) -> Cell:
    what = ids[0]
    match kind:
        case "gathered":
            calls = ", ".join(f"desk.send({one!r}, {rng.randrange(20)})" for one in ids)
            code = f"import asyncio\n{name} = await asyncio.gather({calls}, desk.look('it', {rng.randrange(20)}))"
            return Cell(code=code, names={name: [*(f"sent {one}" for one in ids), "seen it"]}, once=ids)
        case "slow":
            code = f"import time\ntime.sleep(0.1)\n{name} = await desk.send({what!r}, 50)"
            return Cell(code=code, names={name: f"sent {what}"}, once=[what])
        case "callback":
            return Cell(code=f"{name} = desk.apply({what!r}, lambda x: len(x))", names={name: TAKEN}, once=[what])
        case "booked":
            return Cell(code=f"with transaction():\n    {name} = desk.book({what!r})", names={name: what}, once=[what])
        case "undone":
            block = "with transaction():" + "".join(f"\n        desk.book({one!r})" for one in ids) + "\n        1 / 0"
            code = f"try:\n    {block}\nexcept ZeroDivisionError:\n    {name} = 'undone'"
            return Cell(code=code, names={name: "undone"}, undone=ids)
        case "paid":
            code = (
                f"try:\n    {name} = await desk.pay({what!r})\nexcept PermissionError:\n    {name} = 'denied'\n{name}"
            )
            return Cell(code=code, names={name: TAKEN}, once=[what])
        case _:
            return Cell(code=f"{name} = desk.add({what!r})", names={name: f"added {what}"}, once=[what])


def ledger_faults(models: Iterable[SessionModel], desk: Desk, store: Store) -> list[str]:
    """Effects that are lost, doubled, or that the journal does not have."""
    happened: dict[str, Counter[str]] = {}
    for effect in desk.effects.read():
        happened.setdefault(str(effect.args[0]), Counter())[effect.name] += 1
    faults: list[str] = []
    known = set(store.sessions())
    for model in models:
        journal = _recorded(store, model.id) if model.id in known else {}
        mine = {what: counts for what, counts in happened.items() if what.startswith(f"{model.id}/")}
        for what, counts in mine.items():
            faults += [f"{what}: {name} happened {count} times" for name, count in counts.items() if count > 1]
        taken_back = {what for what, counts in mine.items() if counts["unbook"]}
        faults += [f"{what}: happened, and the journal has no row of it" for what in mine if what not in journal]
        done = [what for what, status in journal.items() if status == "done"]
        faults += [f"{what}: the journal says done, and it did not happen" for what in done if what not in mine]
        faults += [f"{what}: lost" for what in (*model.once, *model.undone) if what not in mine]
        faults += [f"{what}: undone" for what in model.once if what in taken_back]
        faults += [f"{what}: not undone" for what in model.undone if what not in taken_back]
        faults += [f"{what}: happened after a no" for what in model.never if what in mine]
    return faults


def _recorded(store: Store, session: str) -> dict[str, str]:
    """The effects that the journal has of a session, its parents' not among them: id → status."""
    found: dict[str, str] = {}
    for row in store.rows(session):
        if row.door == "host" and not row.reads:
            found |= dict.fromkeys(re.findall(rf"{session}/\d+", json.dumps(row.arguments.tree)), row.status)
    return found
