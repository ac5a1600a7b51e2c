# %% 1 fails: the parameter is called city
crm.contacts.list(town="Oslo")
# %% 1 fails: stage goes by keyword
crm.contacts.list("Oslo", Stage.NEW)
# %% 1 fails: there is no email
crm.contacts.create("Zoe")
# %% 2 fails: city goes by keyword
name = "Zoe"
crm.contacts.create(name, "zoe@example.org", "Oslo")
# %% 1 errs: a stage is no text
crm.contacts.list(stage="won")
# %% 2 errs: a stage is no text
deal = crm.deals.open()[0]
crm.deals.move(deal.id, "won")
# %% 1 fails: a number is meant, not the deal
crm.deals.move(crm.deals.open()[0], Stage.WON)
# %% 1 fails: the limit is a number
crm.contacts.list(limit="10")[0]
# %% 2 fails: a date is meant
closes = "2026-07-01"
print(crm.deals.schedule(3, closes=closes).closes.year)
# %% 1 fails: closes goes by keyword
crm.deals.schedule(3, today())
# %% 1 fails: nothing to schedule for
crm.deals.schedule(3)
# %% 1 fails: there is no subject
mail.send("ada@example.org")
# %% 1 errs: this priority does not exist
mail.send("ada@example.org", "Hello", priority="urgent")
# %% 1 fails: the parameter is called body
mail.send("ada@example.org", "Hello", text="How are you?")
# %% 1 errs: the subject is a text
mail.send("ada@example.org", 42)
# %% 1 errs: cc is a list
mail.send("ada@example.org", "Hello", cc="bo@example.org")
# %% 2 fails: a path is meant
draft = mail.draft("ada@example.org")
draft.attach("report.pdf")
# %% 1 errs: a timedelta is meant
mail.archive(30)
# %% 1 fails: a contact is meant, not its name
crm.contacts.update("Ada")
# %% 1 fails: a contact is meant, not a dict
crm.contacts.update({"name": "Ada", "city": "Bergen", "score": 3})
# %% 1 errs: it takes a list of names
crm.contacts.tag("Ada", "vip") if False else crm.contacts.tag((), "vip")
# %% 2 fails: the names are in a list
oslo = crm.contacts.list("Oslo")
crm.contacts.tag(oslo, "capital")
# %% 1 fails: the key takes the contact
crm.contacts.rank(lambda: 3)
# %% 1 fails: a function is meant
crm.contacts.filter("vip")
# %% 1 fails: the listener takes one contact
crm.contacts.on_change(lambda old, new: print(old, new)); crm.contacts.create("Zoe", "z@example.org")
# %% 1 fails: a Contact needs an email
Contact("Zoe")
# %% 1 fails: the field is called email
Contact(name="Zoe", mail="zoe@example.org")
# %% 1 fails: tags is a list
Contact("Zoe", "zoe@example.org", tags="vip")
# %% 1 fails: the stage is no text
Contact("Zoe", "zoe@example.org", stage="new")
# %% 1 fails: the amount is a number
Deal(9, "Ada", "1200")
# %% 1 fails: a ticket takes keywords
Ticket("Broken", 3)
# %% 1 fails: a ticket needs a title
Ticket(priority=2)
# %% 1 fails: a decimal is meant
convert(10.5, Currency.NOK)
# %% 3 errs: the currency is no text
from decimal import Decimal

convert(Decimal("10.5"), "NOK")
# %% 1 fails: the city is missing
geocode()
# %% 1 fails: name and text go by position
await notify(name="Ada", text="hello")
# %% 1 fails: urgent goes by keyword
await notify("Ada", "hello", True)
# %% 1 fails: the user's number is missing
await api.user()
# %% 1 fails: the number is no text
await api.user("1")
# %% 1 fails: the parameter is called params
await api.get("/things", query={"q": "x"})
# %% 1 errs: params is a dict
(await api.get("/things", params="q=x")).json()
# %% 1 fails: page goes by keyword
await api.users(2)
# %% 2 errs: bytes are meant
text = "hello"
await api.upload(text, "a.txt")
# %% 1 fails: the window is missing
stats.moving([1, 2, 3])
# %% 1 fails: numbers are meant
stats.mean(["1", "2"])
# %% 1 fails: a list is meant
stats.median(5)
# %% 1 fails: a number of bins is meant
stats.histogram([1.0, 2.0], bins="3")
# %% 1 fails: cents is a number
price("250") * 2 + price(1)
# %% 1 errs: the level is no text
log("failed", level="error")
# %% 1 fails: sql is missing
db.execute()
# %% 2 fails: a function of the session takes two
def area(width, height): return width * height
area(3)
# %%
def area(width, height):
    return width * height
# %% + 1 fails: it takes two
area(1, 2, 3)
# %% 1 fails: read takes a year
archive.read()
# %% 1 fails: len of a number
len(mail.unread)
