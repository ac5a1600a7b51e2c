# %%
ada = crm.contacts.get("Ada")
# %% +
ada.name.upper()
# %% +
ada = ada.name
# %% +
ada.lower()
# %% +
ada = len(ada)
ada + 1
# %%
import json, math
from datetime import date as day
# %% +
json.dumps({"pi": math.pi, "day": day(2026, 1, 1).isoformat()})
# %%
def score_of(name):
    return crm.contacts.get(name).score


class Report:
    def __init__(self, title):
        self.title = title
        self.lines = []

    def add(self, line):
        self.lines.append(line)
        return self
# %% +
report = Report("people").add(f"Ada {score_of('Ada')}")
# %% +
report.add("more")
report.lines[0], report.title
# %% +
isinstance(report, Report)
# %% +
def score_of(name, factor):
    return crm.contacts.get(name).score * factor


score_of("Ada", 2)
# %% +
score_of("Bo", factor=3)
# %%
rows = crm.contacts.list()
total = 0
# %% +
for row in rows:
    total += row.score
total
# %% +
rows = {row.name: row for row in rows}
rows["Ada"].city
# %% +
rows = [(name, row.score) for name, row in rows.items()]
rows[0][1] + 1
# %% +
del rows
# %% +
rows = "gone"
rows.upper()
# %%
crm = crm.contacts
# %% +
crm.list("Oslo")[0].name
# %% +
crm = crm.get("Ada")
crm.email
# %%
x: int = 3
# %% +
x: str = "three"
x.upper()
# %% +
x = [x]
x[0]
# %%
import asyncio

pending = [api.user(i) for i in (1, 2)]
# %% +
users = await asyncio.gather(*pending)
# %% +
users[0].login
# %% +
task = asyncio.create_task(api.count())
# %% +
await task + 1
# %%
try:
    import numpy_that_is_not_there as np
except ImportError:
    np = None
# %% +
np is None
# %%
if mail.unread > 1:
    busy = True
# %% +
print(busy)
# %%
for index, city in enumerate(cities):
    pass
# %% +
index + 1, city.upper()
# %%
with open("kept.txt", "w") as kept:
    kept.write("x")
# %% +
kept.closed, kept.name.upper()
# %%
from math import *
# %% +
sqrt(16) + floor(2.5)
# %%
counter = 0


def count(contact):
    global counter, last_seen
    counter += 1
    last_seen = contact
# %% +
crm_contacts = [Contact("A", "a@example.org"), Contact("B", "b@example.org")]
for c in crm_contacts:
    count(c)
counter, last_seen.name
# %%
if (size := len(cities)) > 2:
    big = [c for c in cities if (short := c[:2])]
# %% +
size + 1, short.upper(), big[0]
# %%
_private = 3
__also = 4
# %% +
_private + __also
# %%
first, second = "a", "b"
# %% +
first + second
# %%
list = [1, 2]
# %% +
list.append(3)
list[0] + 1
# %% +
del list
# %% +
list(range(3))
# %%
match (1, "b"):
    case (int(number), letter):
        pass
# %% +
number + 1, letter.upper()
