# %%
from dataclasses import dataclass, field


@dataclass
class Row:
    name: str
    amount: float = 0.0
    notes: list[str] = field(default_factory=list)

    def add(self, amount):
        self.amount += amount
        return self


Row("x").add(3).add(4.5).amount
# %%
class Tree:
    def __init__(self, value, *children):
        self.value = value
        self.children = children

    def walk(self):
        yield self.value
        for child in self.children:
            yield from child.walk()


list(Tree(1, Tree(2), Tree(3, Tree(4))).walk())
# %%
def fib():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b


from itertools import islice

list(islice(fib(), 8))
# %%
from functools import lru_cache, reduce


@lru_cache(maxsize=None)
def ways(n: int) -> int:
    return 1 if n < 2 else ways(n - 1) + ways(n - 2)


reduce(lambda x, y: x * y, [1, 2, 3]), ways(20)
# %%
def counted(function):
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        return function(*args, **kwargs)

    wrapper.calls = 0
    return wrapper


@counted
def look(city):
    return crm.contacts.list(city)


look("Oslo")
look.calls
# %%
numbers = []
numbers.append(1)
numbers.append("two")
numbers += [3.0]
len(numbers)
# %%
mixed = [1, 2]
mixed.append("three")
mixed[0] = None
mixed
# %%
nested = {}
nested["a"] = {}
nested["a"]["b"] = [1]
nested["a"]["b"].append(2)
nested
# %%
value = "12"
value = int(value)
value + 1
# %%
data = None
for candidate in (0, 3, 5):
    if candidate:
        data = {"found": candidate}
        break
data["found"]
# %%
x = 5 if crm.region else None
x + 1
# %%
def describe(thing):
    if isinstance(thing, str):
        return thing.upper()
    if isinstance(thing, (int, float)):
        return thing + 1
    if isinstance(thing, Contact):
        return thing.name
    return [describe(t) for t in thing]


describe(["a", 1, crm.contacts["Ada"], ["b"]])
# %%
def process(command):
    match command.split():
        case ["add", name, *rest]:
            return f"added {name} {len(rest)}"
        case [action, _]:
            return action
        case _:
            return "?"


process("add ada now"), process("drop ada"), process("x")
# %%
match {"kind": "deal", "id": 3, "extra": True}:
    case {"kind": "deal", "id": int(number), **rest}:
        print(number, rest)
# %%
text = """one,1
two,2"""
pairs = [line.split(",") for line in text.splitlines()]
{name: int(number) for name, number in pairs}["two"]
# %%
while (n := len(cities)) < 6:
    cities.append(f"city{n}")
n
# %%
import re
from typing import NamedTuple


class Token(NamedTuple):
    kind: str
    text: str


[Token("word", w).text for w in re.findall(r"\w+", "a bc d")]
# %%
import enum


class Color(enum.Enum):
    RED = 1
    BLUE = 2

    @property
    def nice(self):
        return self.name.title()


Color.RED.nice
# %%
try:
    {}["missing"]
except KeyError as e:
    message = f"missing {e.args[0]}"
finally:
    print("done")
message
# %%
class Problem(Exception):
    def __init__(self, code):
        super().__init__(code)
        self.code = code


try:
    raise Problem(3)
except Problem as problem:
    print(problem.code + 1)
# %%
from pathlib import Path

Path("out").mkdir(exist_ok=True)
for c in crm.contacts:
    (Path("out") / f"{c.name}.txt").write_text(c.email)
sorted(p.name for p in Path("out").glob("*.txt"))[0]
# %%
from pathlib import Path

file = Path("notes.txt")
with file.open("w") as handle:
    handle.write("one\ntwo\n")
len(file.read_text().splitlines())
# %%
with open("more.txt", "w", encoding="utf-8") as f:
    print("line", file=f)
open("more.txt").read().strip()
# %%
import json
from pathlib import Path

Path("state.json").write_text(json.dumps({"a": [1, 2]}))
state = json.loads(Path("state.json").read_text())
state["a"][0] + 1
# %%
def outer():
    best = None

    def visit(contact):
        nonlocal best
        if best is None or contact.score > best.score:
            best = contact

    for c in crm.contacts:
        visit(c)
    return best.name


outer()
# %%
def total(*amounts: float, **options) -> float:
    return sum(amounts) * options.get("factor", 1)


total(1, 2, factor=3), total(*[1, 2], **{"factor": 2})
# %%
args = {"city": "Oslo", "limit": 1}
crm.contacts.list(**args)
# %%
arguments = ("Ada",)
crm.contacts.get(*arguments).name
# %%
getters = {"contact": crm.contacts.get, "find": crm.contacts.find}
getters["contact"]("Ada").name
# %%
lookup = crm.contacts.get
list(map(lookup, ["Ada", "Bo"]))[0].city
# %%
from operator import attrgetter, itemgetter

sorted(crm.contacts, key=attrgetter("score"))[0].name, itemgetter(1)((1, 2))
# %%
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(2) as pool:
    squares = list(pool.map(lambda n: n * n, range(4)))
squares
# %%
ticket = Ticket(title="Broken", labels=["bug"])
ticket.model_dump()["priority"] + 1
# %%
Ticket(title="Due", due="2026-05-01", priority="2").due.year
# %%
Ticket.model_validate({"title": "x"}).title.upper()
# %%
from typing import Any, Optional


def pick(items: list[Any], index: Optional[int] = None) -> Any:
    return items[index or 0]


pick([1, 2]).bit_length()
# %%
from collections import deque

recent = deque(maxlen=3)
for i in range(5):
    recent.append(i)
list(recent)
# %%
first_name, *others = [c.name for c in crm.contacts]
others[-1]
# %%
print("a", "b", sep="-", end="\n")
"%s has %d" % ("Ada", 3)
# %%
"".join(sorted({c for c in "hello" if c.isalpha()}, reverse=True))
# %%
[(x, y) for x in range(3) for y in "ab" if x]
# %%
del cities[0]
len(cities)
# %%
import contextlib


@contextlib.contextmanager
def noted(what):
    log(f"begin {what}")
    yield what.upper()
    log(f"end {what}")


with noted("work") as label:
    print(label)
# %%
assert crm.contacts.find("Ada"), "Ada is gone"
# %%
globals()["made_by_text"] = 3
made_by_text + 1
# %%
import datetime as dt

dt.datetime(2026, 1, 2).replace(hour=3).astimezone(dt.timezone.utc).tzinfo
# %%
import types

box = types.SimpleNamespace(a=1)
box.b = 2
box.a + box.b
# %%
import math, os.path, string
from collections.abc import Iterable


def flat(items: Iterable) -> list:
    return [x for item in items for x in (flat(item) if isinstance(item, list) else [item])]


flat([1, [2, [3]]]), math.pi, os.path.join("a", "b"), string.ascii_letters[:3]
# %%
try:
    import package_that_is_not_there
except ImportError:
    package_that_is_not_there = None
package_that_is_not_there is None
# %%
try:
    size = crm.contacts.size
except AttributeError:
    size = len(crm.contacts)
size
# %%
try:
    cached_people
except NameError:
    cached_people = crm.contacts.list()
len(cached_people)
# %%
import sys
from pathlib import Path

Path("own_module.py").write_text("def greet(name): return f'hi {name}'")
sys.path.insert(0, ".")
import own_module

own_module.greet("Ada")
