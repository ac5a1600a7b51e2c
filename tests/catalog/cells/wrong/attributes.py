# %% 1 fails: the method is called list
crm.contacts.all()
# %% 1 fails: it is contacts
crm.contact.list()
# %% 1 fails: a contact's field is email
crm.contacts.get("Ada").mail
# %% 2 fails: a contact's field is city
for c in crm.contacts.list():
    print(c.town)
# %% 1 fails: a list has no name
crm.contacts.list("Oslo").name
# %% 1 fails: a contact is no dict
crm.contacts.get("Ada")["email"]
# %% 2 fails: deals have an amount
deals = crm.deals.open()
sum(d.value for d in deals)
# %% 1 fails: the method is called by_contact
crm.deals.by_customer()["Ada"]
# %% 2 fails: the values are lists
for name, deal in crm.deals.by_contact().items():
    print(deal.amount)
# %% 1 fails: there is no such stage
crm.deals.total(stage=Stage.CLOSED)
# %% 1 fails: unread is no method
mail.unread()
# %% 1 fails: the method is called outbox
mail.inbox(limit=5)
# %% 1 fails: a message has a subject
mail.send("ada@example.org", "Hello").title
# %% 1 fails: nothing comes back
mail.archive(__import__("datetime").timedelta(days=1)).count
# %% 2 fails: status, not status_code
response = await api.get("/things")
response.status_code
# %% 2 fails: json is a method
response = await api.get("/things")
response.json["items"]
# %% 2 fails: ok is no method
response = await api.get("/things")
response.ok()
# %% 2 fails: a user has a login
users = await api.users()
[u.username for u in users]
# %% 2 fails: an event's field is number
async for event in api.stream("news"):
    print(event.no)
# %% 2 fails: the field is latitude
point = geocode("Oslo")
point.lat
# %% 1 fails: the module has no such function
stats.average([1, 2])
# %% 2 fails: the field is high
summary = stats.summarize([1, 2])
summary.max
# %% 1 fails: strings have upper
crm.region.toUpperCase()
# %% 2 fails: lists have append
rows = [1]
rows.push(2)
# %% 1 fails: a frozen record
crm.deals.all()[0].amount = 3
# %% 1 fails: erase is not to be had here
archive.erase(2024)
# %% 1 fails: a cursor comes from execute
db.query("select 1")
# %% 2 fails: cursors have fetchall
cursor = db.execute("select 1")
cursor.all()
# %% 1 fails: loading extensions is hidden
db.set_authorizer(None)
# %% 3 fails: the error has a key
try:
    crm.contacts.get("Zed")
except NotFound as e: print(e.name_of_key)
# %% 1 fails: a date is no text
today().split("-")
# %% 2 fails: text and number
total = crm.deals.total()
"total: " + total
# %% 2 fails: number and text
unread = mail.unread
unread + " unread"
# %% 1 fails: a contact cannot be added up
sum([crm.contacts.get("Ada") + crm.contacts.get("Bo")])
# %% 1 fails: money is added to money
price(3) + 4
# %% 1 fails: money times a number
price(3) * price(4)
# %% 1 fails: deals is no list
crm.deals[0]
# %% 1 fails: deals cannot be walked through
for deal in crm.deals: print(deal)
# %% 2 fails: two fields in a point
city = "Oslo"
latitude, longitude, height = geocode(city)
# %% 1 fails: a lambda over contacts
crm.contacts.filter(lambda c: c.vip)
# %%
found = crm.contacts.list("Oslo")
# %% + 2 fails: found is a list
print(len(found))
found.email
# %%
class Report:
    def __init__(self, title):
        self.title = title
# %% + 1 fails: a report has a title
Report("x").name
# %% 2 fails: a list is asked by number
rows = crm.contacts.list()
rows["Ada"].email
# %% 1 fails: contacts are asked by name
crm.contacts[0]
# %% 1 fails: contacts are not put there by name
crm.contacts["Zoe"] = Contact("Zoe", "zoe@example.org")
