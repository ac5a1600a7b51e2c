# %%
mail.send("ada@example.org", "Hello")
# %%
mail.send(["ada@example.org", "bo@example.org"], "Hello", "How are you?", cc=["cy@example.org"], priority="high").id
# %%
mail.send(to="a@example.org", subject="s", body="b", priority="low").sent.hour
# %%
urgency = "high" if mail.unread > 2 else "low"
mail.send("a@example.org", "Unread", priority=urgency)
# %%
mail.send("ada@example.org", "x")
[m.subject for m in mail.outbox()]
# %%
mail.outbox(5)[:2]
# %%
draft = mail.draft("ada@example.org")
draft.subject = "Report"
draft.write("first").write("second")
draft.send().body.splitlines()
# %%
from pathlib import Path

mail.draft("bo@example.org").attach(Path("report.pdf")).attach(Path("a") / "b.csv", name="b.csv").files
# %%
mail.unread + 1
# %%
f"{mail.unread} unread, {mail.signature}"
# %%
from datetime import timedelta

mail.archive(timedelta(days=30))
# %%
import datetime

mail.archive(older_than=datetime.timedelta(weeks=1)) is None
# %%
for person in crm.contacts:
    if person.email:
        mail.send(person.email, f"Hello {person.name}", f"You are in {person.city}\n{mail.signature}")
len(mail.outbox(100))
# %%
template = "Dear {name}, your score is {score:.1f}"
texts = [template.format(name=c.name, score=c.score) for c in crm.contacts]
texts[0]
# %%
sent = [mail.send(c.email, "Hi") for c in crm.contacts.filter(lambda c: bool(c.email))]
sent[-1].to[0].split("@")[1]
# %%
send_high("ada@example.org", "Now").id
# %%
send_high(["a@example.org"], "Now", "please", cc=None)
# %%
def greet(name: str, *, formal: bool = False) -> str:
    return f"{'Dear' if formal else 'Hi'} {name}"


mail.send("ada@example.org", greet("Ada", formal=True)).subject
# %%
import textwrap

mail.send("a@example.org", "Wrapped", textwrap.fill("word " * 30, width=40)).body.count("\n")
# %%
import re

match = re.search(r"@(\w+)\.", "ada@example.org")
match.group(1)
# %%
import re

hosts = {m.group(1) for c in crm.contacts if (m := re.search(r"@([\w.]+)", c.email))}
hosts
# %%
messages = mail.outbox()
messages[0].subject if messages else "nothing"
# %%
recipients = ",".join(c.email for c in crm.contacts if c.email)
mail.send(recipients.split(","), "All of you").to[:1]
