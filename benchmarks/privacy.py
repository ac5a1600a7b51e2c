"""How fast private values are found in texts, beside what any program pays that reads the same text.

Three texts: prose with about twenty values in 10 KB, JSON records that are nearly all values, and prose without one.
The yardsticks of the same run are one `re.sub` with a pattern for e-mail addresses, and `json.loads` for the records.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable

from benchmarks.results import Check
from benchmarks.run import Run, median
from cellwright import Limits, Runtime, operation
from cellwright.guard import PrivateText

SIZE_MB = 10
TARGET_MB_S = 10.0
WORDS = (
    "the of review order after with team new was have report system and data to in for meeting week value result "
    "method "
    "group server deploy Monday Boston improve they we it when customer asked about delivery because price changed "
    "again"
).split()
FIRST = "Ann Bo Carla Dan Eva Finn Greta Hugo Ida Jon".split()
LAST = "Lee Ek Rossi Brown Lund Meyer Novak Silva Berg Kaya".split()
PLAIN_MAIL = re.compile(r"[A-Za-z0-9._+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")


def _value(chance: random.Random) -> str:
    """A value of a kind that a text of people's affairs has; no two are alike."""
    digits = "".join(chance.choices("0123456789", k=9))
    match chance.randrange(6):
        case 0 | 1:
            return f"{chance.choice(FIRST).lower()}.{digits}@example.org"
        case 2:
            return f"+47 4{digits[:1]} {digits[1:3]} {digits[3:5]} {digits[5:7]}"
        case 3:
            return f"(212) 6{digits[:2]}-{digits[2:6]}"
        case 4:
            return f"10.{int(digits[:2])}.{int(digits[2:4])}.1{digits[4]}"
        case _:
            return f"{int(digits[:3]) + 1} {chance.choice(LAST)} Street, Springfield, IL 6{digits[3:7]}"


def prose(size: int, values: int, seed: int) -> str:
    """A text of sentences, with so many values in each 10 KB; some sentences have numbers that are none."""
    chance = random.Random(seed)
    parts: list[str] = []
    length = written = 0
    while length < size:
        sentence = " ".join(chance.choices(WORDS, k=chance.randint(6, 18))).capitalize()
        if written < length * values / 10_000:
            sentence += f" {_value(chance)}"
            written += 1
        elif chance.random() < 0.15:
            sentence += f" in {chance.randint(1990, 2030)}, {chance.randint(2, 99)} times"
        sentence += ".\n\n" if chance.random() < 0.1 else ". "
        parts.append(sentence)
        length += len(sentence)
    return "".join(parts)


def records(size: int) -> str:
    chance = random.Random(3)
    rows = [
        {
            "id": at,
            "first_name": chance.choice(FIRST),
            "last_name": chance.choice(LAST),
            "email": f"user{at}@example.org",
            "phone": f"(212) 664-{at % 10_000:04}",
            "amount": at % 977,
            "note": "called again, no answer",
        }
        for at in range(size // 160)
    ]
    return json.dumps(rows)


async def measure(run: Run) -> list[Check]:
    size = run.count(SIZE_MB, 1) << 20
    private = PrivateText()
    private.spans(prose(size // 10, 20, 1))  # loads what is loaded at the first use
    texts = {
        "prose, 20 values in 10 KB": [prose(size, 20, seed) for seed in range(2, 2 + run.count(3, 1))],
        "prose without values": [prose(size, 0, 9)],
        "JSON records": [records(size)],
    }
    checks: list[Check] = []
    for what, each in texts.items():
        ours: list[float] = []
        theirs: list[float] = []
        name = "json.loads" if what.startswith("JSON") else "one re.sub, e-mail addresses"
        other: Callable[[str], object] = (
            json.loads if what.startswith("JSON") else lambda text: PLAIN_MAIL.sub("", text)
        )
        for at in run.rounds(f"private data, {what}", max(3, len(each)), 1):
            text = each[at % len(each)]
            ours.append(_seconds(private.spans, text))
            theirs.append(_seconds(other, text))
        checks.append(_check(what, name, size, median(ours), median(theirs), len(ours)))
    return [*checks, *await _calls(run)]


class Desk:
    """Gives a record of a person, and takes an address."""

    @operation(reads=True)
    def row(self) -> dict[str, object]:
        return {"id": 7, "full_name": "Ann Lee", "email": "ann@lee.example", "note": "called again, no answer"}

    @operation(may_have=["email"])
    def mail(self, to: str) -> None:
        assert to == "ann@lee.example"


CALLS = {
    "row = desk.row()": "a call that gives a record of a person",
    "desk.mail(email)": "a call that is given a value",
}
LOOP = """
import time
email, times = desk.row()["email"], []
for _ in range({count}):
    began = time.perf_counter()
    {call}
    times.append(time.perf_counter() - began)
times
"""


async def _calls(run: Run) -> list[Check]:
    """What a call takes with private data beside the same without it; the guest measures."""
    count, limits = run.count(300, 10), Limits(host_calls=10**6)
    times: dict[tuple[str, bool], list[float]] = {(call, private): [] for call in CALLS for private in (False, True)}
    async with Runtime({"desk": Desk()}, limits=limits, private=True) as hidden:
        async with Runtime({"desk": Desk()}, limits=limits) as plain:
            for _ in run.rounds("private data, calls", 10, 1):
                for (call, private), measured in times.items():
                    runtime = hidden if private else plain
                    measured += (await runtime.execute(LOOP.format(count=count, call=call))).unwrap()
    return [
        Check(
            subject="privacy",
            what=what,
            against="the same, nothing private",
            ours=median(times[call, True]),
            theirs=median(times[call, False]),
            value=median(times[call, True]) / median(times[call, False]),
            samples=len(times[call, True]),
        )
        for call, what in CALLS.items()
    ]


def _check(what: str, against: str, size: int, ours: float, theirs: float, samples: int) -> Check:
    speed = size / 1e6 / ours
    note = f"{speed:.1f} MB/s beside {size / 1e6 / theirs:.1f} MB/s"
    target = size / 1e6 / TARGET_MB_S / theirs if what.startswith("prose, ") else None  # the target is a speed
    return Check(
        subject="privacy",
        what=f"private values found in {size >> 20} MB: {what}",
        against=against,
        ours=ours,
        theirs=theirs,
        value=ours / theirs,
        target=target and round(target, 1),
        samples=samples,
        note=note,
    )


def _seconds(read: Callable[[str], object], text: str) -> float:
    began = time.thread_time()  # both only compute: what else the machine does is not counted
    read(text)
    return time.thread_time() - began
