# %% 1 errs: not awaited
api.user(1)
# %% 2 errs: not awaited
crm.contacts.list()
notify("Ada", "hello")
# %% 2 fails: a coroutine has no login
user = api.user(1)
print(user.login)
# %% 1 fails: a coroutine has no status
api.get("/things").status
# %% 1 fails: the result is awaited after its attribute
await api.get("/things").json()
# %% 1 errs: prints a coroutine
print(api.count())
# %% 2 errs: prints a coroutine
count = api.count()
print("there are", count)
# %% 1 errs: a coroutine in a text
f"there are {api.count()} of them"
# %% 2 errs: a coroutine in a text
count = api.count()
message = f"there are {count} of them"; mail.send("ada@example.org", message)
# %% 1 errs: a coroutine is always true
if notify("Ada", "hello"): print("told")
# %% 1 errs: a coroutine equals nothing
print("many") if api.count() == 42 else print("few")
# %% 1 fails: a coroutine is not compared
api.count() > 3
# %% 1 fails: a coroutine is not added
api.count() + 1
# %% 1 fails: a coroutine is not walked through
for user in api.users(): print(user.login)
# %% 1 fails: a coroutine is not walked through
[u.login for u in api.users()]
# %% 2 fails: a coroutine has no items
users = api.users()
users[0].login
# %% 1 fails: a coroutine has no length
len(api.users())
# %% 3 fails: gather is awaited
import asyncio
users = asyncio.gather(api.user(1), api.user(2))
print(users[0])
# %% 3 fails: gather is awaited
import asyncio
users = asyncio.gather(api.user(1), api.user(2))
for user in users: print(user)
# %% 2 fails: each of them is awaited
users = [api.user(i) for i in (1, 2)]
[u.login for u in users]
# %% 2 errs: each of them is awaited
users = [api.user(i) for i in (1, 2)]
print(users)
# %% 1 fails: each of them is awaited
sum(api.user(i).id for i in (1, 2))
# %% 2 errs: the wait is not awaited
import asyncio
asyncio.sleep(1)
# %% 1 fails: an async iterator is walked through by async for
for event in api.stream("news"): print(event)
# %% 1 fails: a list is no async iterator
async for user in await api.users(): print(user)
# %% 1 fails: the batch is entered by async with
with api.batch() as batch: batch.add("/a")
# %% 1 fails: the lock is entered by with
async with crm.lock("Ada"): print("held")
# %% 1 fails: contacts are not awaited
await crm.contacts.list()
# %% 1 fails: a total is not awaited
total = await crm.deals.total()
# %% 3 errs: not awaited inside a function
async def tell(names):
    for name in names:
        notify(name, "hello")
    return len(names)


await tell(["Ada", "Bo"])
# %% 2 fails: the function is not async
def load(number):
    return (await api.user(number)).login
# %% 2 fails: the user is not awaited
def load(number):
    return api.user(number).login


load(1)
# %% 2 errs: a coroutine is sent on as text
count = api.count()
mail.send("ada@example.org", "Count", str(count))
# %% 1 errs: a coroutine is not serialised
print(str([api.count(), 3]))
# %% 1 fails: the response is not awaited
api.post("/things", {"name": "x"}).ok
# %%
user = api.user(1)
# %% + 1 fails: the session's coroutine was never awaited
user.login
# %% 3 fails: sent to the host before it is there
people = crm.contacts.list()
count = api.count()
stats.mean([count, 2])
# %% 1 errs: refresh is not awaited
crm.refresh()
# %% 1 errs: refresh is not awaited
print("now", crm.refresh(full=True))
# %% 5 fails: the helper returns a coroutine
def load(number):
    return api.user(number)


load(1).login
# %% 2 fails: the helper on one line returns a coroutine
def load(é="åé"): return api.user(len(é))
load().login
# %%
def load(number):
    found = api.user(number)
    return found
# %% + 2 fails: the helper of an earlier cell returns a coroutine
for number in (1, 2):
    print(load(number).login)
# %% 2 errs: what the helper returns is printed
def count_all(): return api.count()
print("count", count_all())
