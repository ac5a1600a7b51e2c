# %%
crm.deals.open()
# %%
sum(d.amount for d in crm.deals.open())
# %%
crm.deals.total(), crm.deals.total(stage=Stage.WON)
# %%
for name, deals in crm.deals.by_contact().items():
    print(name, len(deals), sum(d.amount for d in deals))
# %%
moved = crm.deals.move(2, Stage.WON)
moved.stage.name
# %%
deal = crm.deals.open()[0]
crm.deals.move(deal.id, stage=Stage.LOST)
# %%
from datetime import date

crm.deals.schedule(3, closes=date(2026, 7, 1)).closes.isoformat()
# %%
from datetime import timedelta

crm.deals.schedule(3, closes=today() + timedelta(days=30))
# %%
try:
    crm.deals.move(99, Stage.WON)
except NotFound as e:
    problem = e.key
else:
    problem = None
problem
# %%
for batch in crm.deals.batches(2):
    print([d.id for d in batch])
# %%
first_batch = next(crm.deals.batches(size=2))
len(first_batch)
# %%
all_deals = crm.deals.all()
biggest = max(all_deals, key=lambda d: d.amount)
biggest.contact
# %%
sorted(crm.deals.all())[0].id
# %%
late = [d for d in crm.deals.all() if d.closes and d.closes < today()]
[d.id for d in late]
# %%
late = [d for d in crm.deals.all() if d.closes is not None]
(late[0].closes - today()).days
# %%
Deal(4, "Bo", 10.5) == Deal(4, "Bo", 10.5)
# %%
draft = Deal(id=5, contact="Cy", amount=7)
hash(draft) is not None, draft.closes is None
# %%
from dataclasses import replace

replace(crm.deals.all()[0], amount=1.0).amount
# %%
for deal in crm.deals.all():
    match deal:
        case Deal(amount=amount, stage=Stage.WON):
            print("won", amount)
        case Deal(id=number, contact=who):
            print(number, who)
# %%
report = []
for d in crm.deals.all():
    report.append({"id": d.id, "amount": round(d.amount, 1), "closes": str(d.closes)})
report[0]["amount"] + 1
# %%
summary = {"count": 0, "amount": 0.0, "who": []}
for d in crm.deals.all():
    summary["count"] += 1
    summary["amount"] += d.amount
    summary["who"].append(d.contact)
summary
# %%
import json

json.loads(json.dumps([d.amount for d in crm.deals.all()]))[0]
# %%
from itertools import groupby

{k.name: [d.id for d in g] for k, g in groupby(crm.deals.all(), key=lambda d: d.stage)}
# %%
best = None
for d in crm.deals.all():
    if best is None or d.amount > best.amount:
        best = d
best.contact
# %%
ids = set()
for d in crm.deals.all():
    ids.add(d.id)
ids |= {100}
ids & {1, 2}
# %%
who = crm.contacts.find(crm.deals.all()[0].contact)
who.city
# %%
print(*(f"{d.id}:{d.amount:.2f}" for d in crm.deals.all()), sep="\n")
