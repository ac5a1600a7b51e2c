# %%
crm.contacts.list("Oslo")
# %%
crm.contacts.list(city="Bergen", limit=5)
# %%
[c.name for c in crm.contacts.list()]
# %%
{c.name: c.email for c in crm.contacts if c.email}
# %%
ada = crm.contacts.get("Ada")
print(ada.name, ada.city, ada.stage.value)
ada.tags
# %%
found = crm.contacts.find("Ada")
if found is not None:
    print(found.email.upper())
# %%
found = crm.contacts.find("Ada")
found.email
# %%
found = crm.contacts.find("Zed")
"nobody" if found is None else found.name
# %%
if found := crm.contacts.find("Bo"):
    print(f"{found.name:>10} {found.score:6.2f}")
# %%
try:
    crm.contacts.get("Nobody")
except NotFound as error:
    print(error.key)
# %%
try:
    crm.contacts.get("Nobody")
except LookupError as error:
    print(str(error), error.args)
# %%
made = crm.contacts.create("Eve", "eve@example.org", city="Bodø", stage=Stage.TALKING, tags=["new"])
made.stage is Stage.TALKING
# %%
made = crm.contacts.create("Finn", "finn@example.org")
made.tags.append("x")
made.city = "Hamar"
crm.contacts.update(made).city
# %%
"Ada" in crm.contacts, len(crm.contacts)
# %%
crm.contacts["Ada"].seen.year
# %%
seen = crm.contacts["Ada"].seen
seen.strftime("%Y-%m-%d") if seen else "never"
# %%
by_city: dict[str, list[str]] = {}
for person in crm.contacts:
    by_city.setdefault(person.city, []).append(person.name)
by_city
# %%
from collections import Counter

Counter(c.city for c in crm.contacts).most_common(1)
# %%
from collections import defaultdict

groups = defaultdict(list)
for c in crm.contacts.list():
    groups[c.stage].append(c.name)
{stage.name: names for stage, names in groups.items()}
# %%
sorted(crm.contacts, key=lambda c: c.score, reverse=True)[0].name
# %%
max(crm.contacts.list(), key=lambda c: c.score).name
# %%
crm.contacts.filter(lambda c: c.score > 3)
# %%
crm.contacts.filter(lambda c: c.email and "@" in c.email)
# %%
crm.contacts.rank(lambda c: c.score)[0]
# %%
crm.contacts.rank(lambda c: len(c.tags))
# %%
heard = []
crm.contacts.on_change(heard.append)
crm.contacts.create("Gro", "gro@example.org")
[c.name for c in heard]
# %%
last = None


def remember(contact):
    global last
    last = contact


crm.contacts.on_change(remember)
crm.contacts.create("Hal", "hal@example.org")
last.name
# %%
def is_vip(contact: Contact) -> bool:
    return "vip" in contact.tags


[c.name for c in crm.contacts.filter(is_vip)]
# %%
crm.contacts.tag(["Ada", "Bo"], "spring")
# %%
names = [c.name for c in crm.contacts.list() if c.city == "Oslo"]
crm.contacts.tag(names, "capital")
# %%
new = Contact("Ida", "ida@example.org", tags=["a", "b"], score=3)
crm.contacts.create(new.name, new.email, tags=new.tags)
crm.contacts.update(new).score + 1
# %%
from dataclasses import asdict, replace

ada = crm.contacts.get("Ada")
asdict(ada)["email"], replace(ada, city="Molde").city
# %%
match crm.contacts.find("Ada"):
    case Contact(name=name, city="Oslo"):
        print(f"{name} lives in the capital")
    case Contact(name=name):
        print(name)
    case None:
        print("nobody")
# %%
match crm.contacts["Bo"].stage:
    case Stage.NEW | Stage.TALKING:
        answer = "open"
    case Stage.WON:
        answer = "won"
    case _:
        answer = "over"
answer
# %%
Stage("won"), Stage["NEW"], [s.name for s in Stage]
# %%
crm.contacts.list(stage=Stage("won"))
# %%
stages = {s.value: len(crm.contacts.list(stage=s)) for s in Stage}
stages["won"]
# %%
removed = [name for name in ("Di", "Nobody") if crm.contacts.delete(name)]
removed
# %%
oldest = min((c for c in crm.contacts if c.seen), key=lambda c: c.seen)
oldest.name
# %%
days = [(crm.opened - c.seen).days for c in crm.contacts if c.seen is not None]
days
# %%
contacts = crm.contacts
first_two = contacts.list(limit=2)
a, b = first_two
print(a.name, b.name, sep=", ")
# %%
total, count = 0.0, 0
for i, c in enumerate(crm.contacts, start=1):
    total += c.score
    count = i
total / count
# %%
with crm.lock("Ada") as held:
    print(held.upper())
# %%
crm.name, crm.region, crm.opened.isoformat()
# %%
await crm.refresh()
# %%
n = await crm.refresh(full=True)
n + 1
# %%
iterator = iter(crm.contacts)
next(iterator).name
# %%
any(c.stage is Stage.WON for c in crm.contacts), all(c.name for c in crm.contacts)
