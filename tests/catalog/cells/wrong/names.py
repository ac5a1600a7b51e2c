# %% 1 fails: the name is crm
crn.contacts.list()
# %% 2 fails: it was called people above
people = crm.contacts.list()
print(len(peoples))
# %% 1 fails: json is not imported
json.dumps({"a": 1})
# %% 1 fails: datetime is not imported
datetime.now().year
# %% 3 fails: the loop's name is contact
names = []
for contact in crm.contacts:
    names.append(person.name)
# %% 1 fails: there is no such function
send_email("ada@example.org", "Hello")
# %% 2 fails: the comprehension's name is c
oslo = crm.contacts.list("Oslo")
[contact.name for c in oslo]
# %% 4 fails: the parameter is called city
def people_of(city):
    found = crm.contacts.list(city)
    print(len(found))
    return [c.name for c in found if c.city == town]


people_of("Oslo")
# %% 1 fails: true is not Python
crm.contacts.list(limit=1) if true else None
# %% 2 fails: the name was deleted
rows = [1, 2]
del rows; print(rows)
# %% 1 fails: the class is not in scope, only what returns it
User(1, "ada")
# %% 1 fails: a misspelt function of the standard library
from math import squareroot
# %% 1 fails: a misspelt module of the standard library's
import collections.abcd
# %% 4 fails: the exception is called NotFound
try:
    print(crm.contacts.get("Zed").name)
    print("here")
except NotFoundError:
    print("nobody")
# %% 3 fails: the variable of the except clause is e
try:
    crm.contacts.get("Zed")
except NotFound as e: print(error.key)
# %% 2 fails: asyncio is not imported
users = [api.user(1), api.user(2)]
await asyncio.gather(*users)
# %% 2 fails: an f-string with a name that is not there
total = crm.deals.total()
print(f"total: {totl:.2f}")
# %% 2 fails: the name of the enum is Stage
crm.deals.open()
crm.deals.move(2, Stages.WON)
# %%
report = {"a": 1}
# %% + 1 fails: the session's name is report
print(reports["a"])
# %%
def helper(n):
    return n + 1
# %% + 1 fails: the session's function is helper
print(helpr(3))
# %%
temporary = 3
# %% +
del temporary
# %% + 1 fails: an earlier cell deleted it
temporary + 1
