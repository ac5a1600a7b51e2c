# %%
db.execute("select count(*) from orders").fetchone()[0]
# %%
rows = db.execute("select customer, sum(amount) from orders group by customer order by 1").fetchall()
for customer, amount in rows:
    print(customer, amount)
# %%
cursor = db.cursor()
cursor.execute("insert into orders (customer, amount, day) values (?, ?, ?)", ("Cy", 5.5, "2026-03-01"))
db.commit()
cursor.lastrowid
# %%
db.executemany("insert into orders (customer, amount, day) values (?, ?, ?)", [("Di", 1, "x"), ("Di", 2, "y")]).rowcount
# %%
total = 0.0
for (amount,) in db.execute("select amount from orders"):
    total += amount
round(total, 2)
# %%
[row[0] for row in db.execute("select distinct customer from orders")]
# %%
dict(db.execute("select customer, count(*) from orders group by customer").fetchall())
# %%
columns = [d[0] for d in db.execute("select * from orders").description]
columns
# %%
cursor = db.execute("select id, customer from orders")
while (row := cursor.fetchone()) is not None:
    print(row[0], row[1])
# %%
cursor = db.execute("select * from orders")
first_rows = cursor.fetchmany(2)
len(first_rows), first_rows[0][1].upper()
# %%
import sqlite3

try:
    db.execute("select nothing from nowhere")
except sqlite3.OperationalError as error:
    print("no table" in str(error) or str(error))
# %%
try:
    db.execute("insert into orders (id) values (1)")
except Exception as error:
    print(type(error).__name__)
# %%
with db:
    db.execute("update orders set amount = amount + 1 where customer = ?", ("Ada",))
db.total_changes > 0
# %%
db.rollback()
db.in_transaction
# %%
sums = {}
for customer, amount in db.execute("select customer, amount from orders"):
    sums[customer] = sums.get(customer, 0) + amount
max(sums, key=sums.get)
# %%
sums = {"Ada": 2.5, "Bo": 7.0}
sorted(sums.items(), key=lambda item: -item[1])[0]
# %%
def query(sql: str, *args) -> list:
    return db.execute(sql, args).fetchall()


query("select customer from orders where amount > ?", 10)[0][0]
# %%
def table(sql, *args):
    cursor = db.execute(sql, args)
    names = [d[0] for d in cursor.description]
    return [dict(zip(names, row)) for row in cursor]


table("select customer, amount from orders where customer = ?", "Ada")[0]["amount"] * 2
# %%
import csv, io

out = io.StringIO()
writer = csv.writer(out)
writer.writerow(["customer", "amount"])
writer.writerows(db.execute("select customer, amount from orders").fetchall())
out.getvalue().splitlines()[0]
# %%
from datetime import datetime

days = [datetime.strptime(d, "%Y-%m-%d") for (d,) in db.execute("select day from orders where day like '2026%'")]
(max(days) - min(days)).days
# %%
months = {day[:7] for (day,) in db.execute("select day from orders")}
sorted(months)
# %%
db.execute("create table if not exists notes (text)")
db.execute("insert into notes values (:text)", {"text": "hello"})
db.execute("select text from notes").fetchone()
# %%
one = db.execute("select amount from orders where customer = 'Bo'").fetchone()
if one:
    (value,) = one
    print(value * 1.25)
# %%
stats.mean([a for (a,) in db.execute("select amount from orders")])
