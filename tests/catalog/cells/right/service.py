# %%
response = await api.get("/things")
response.status
# %%
(await api.get("/things")).json()["items"][0]
# %%
response = await api.get("/things", params={"q": "x", "page": "2"})
response.json()["params"]["q"].upper() if response.ok else response.text
# %%
params = {"q": "x"}
if crm.region == "north":
    params["region"] = crm.region
await api.get("/things", params=params)
# %%
user = await api.user(1)
user.admin, user.login.title()
# %%
import asyncio

users = await asyncio.gather(api.user(1), api.user(2))
users[0].login
# %%
import asyncio

users = await asyncio.gather(*[api.user(i) for i in range(1, 6)])
[u.login for u in users if not u.admin]
# %%
import asyncio

results = await asyncio.gather(api.user(1), api.user(500), return_exceptions=True)
[r.login if not isinstance(r, BaseException) else str(r) for r in results]
# %%
import asyncio

for done in asyncio.as_completed([api.user(1), api.user(2)]):
    user = await done
    print(user.id)
# %%
import asyncio

task = asyncio.create_task(api.user(3))
other = asyncio.create_task(api.count())
print((await task).login, await other)
# %%
import asyncio

async with asyncio.TaskGroup() as group:
    tasks = [group.create_task(api.user(i)) for i in (1, 2, 3)]
[t.result().login for t in tasks]
# %%
import asyncio

try:
    async with asyncio.timeout(5):
        user = await api.user(4)
except TimeoutError:
    user = None
user.login
# %%
import asyncio

user = await asyncio.wait_for(api.user(5), timeout=5)
user.id
# %%
import asyncio

done, pending = await asyncio.wait([asyncio.create_task(api.user(i)) for i in (1, 2)])
sorted(t.result().id for t in done), len(pending)
# %%
import asyncio

gate = asyncio.Semaphore(2)


async def fetch(number):
    async with gate:
        return await api.user(number)


[u.login for u in await asyncio.gather(*(fetch(i) for i in range(1, 4)))]
# %%
async def every_user(pages: int) -> list[str]:
    found = []
    for page in range(1, pages + 1):
        found += [u.login for u in await api.users(page=page)]
    return found


len(await every_user(2))
# %%
events = []
async for event in api.stream("news", count=2):
    events.append((event.topic, event.number))
events
# %%
[event.number async for event in api.stream("news")]
# %%
{e.topic: e.number async for e in api.stream("news") if e.number}
# %%
async with api.batch() as batch:
    batch.add("/a")
    batch.add("/b")
    print(batch.size)
# %%
try:
    await api.get("/limited")
except RateLimited as error:
    print(error.retry_s * 2)
# %%
import asyncio


async def patiently(path, tries=3):
    for attempt in range(tries):
        try:
            return await api.get(path)
        except RateLimited as error:
            await asyncio.sleep(0)
            print(attempt, error.retry_s)
    return None


await patiently("/limited")
# %%
response = await api.get("/missing")
if not response.ok:
    print(response.status, response.json()["error"], response.header("x-id", "none"))
# %%
created = await api.post("/things", {"name": "x", "count": 3, "tags": ["a"], "nested": {"a": 1}})
created.status == 201
# %%
body = {"name": "x"}
body["count"] = 3
(await api.post("/things", body)).json()["count"] + 1
# %%
await api.upload(b"abc", "a.bin")
# %%
await api.upload("text".encode(), name="a.txt")
# %%
await notify("Ada", "hello", urgent=True)
# %%
if await notify("Ada", "hello"):
    print("told")
# %%
await api.count() + 1
# %%
print(await api.count(), f"{await api.count():>5}")
# %%
total = sum([(await api.user(i)).id for i in range(1, 4)])
total
# %%
coroutines = [api.user(i) for i in (1, 2)]
print(len(coroutines))
[(await c).login for c in coroutines]
# %%
import asyncio

loop = asyncio.get_running_loop()
started = loop.time()
await asyncio.sleep(0)
loop.time() >= started
# %%
import asyncio

queue = asyncio.Queue()
for i in range(3):
    queue.put_nowait(i)


async def work():
    found = []
    while not queue.empty():
        number = await queue.get()
        found.append((await api.user(number)).login)
        queue.task_done()
    return found


sum(await asyncio.gather(work(), work()), [])
# %%
import asyncio

event = asyncio.Event()


async def waits():
    await event.wait()
    return "ready"


waiter = asyncio.create_task(waits())
event.set()
await waiter
# %%
by_id = {u.id: u for u in await api.users(page=1, size=4)}
by_id[2].login
# %%
users = await api.users()
admins = [u for u in users if u.admin]
first(admins).login
# %%
async def names_of(*numbers: int):
    for number in numbers:
        yield (await api.user(number)).login


[name async for name in names_of(1, 2)]
# %%
import asyncio
from contextlib import suppress

with suppress(NotFound):
    await api.user(1000)
cancelled = asyncio.create_task(asyncio.sleep(10))
cancelled.cancel()
with suppress(asyncio.CancelledError):
    await cancelled
# %%
import asyncio

def load(number):
    return api.user(number)

def count_all(): return api.count()

users = await asyncio.gather(*(load(number) for number in (1, 2)))
print([user.login for user in users], await count_all() + 1)
task = asyncio.create_task(load(1))
print((await task).login)
# %% +
user = await load(2)
both = [await work for work in (load(1), load(2))]
print(user.login, [one.login for one in both])
waiting = load(1)
print((await waiting).login.upper())
