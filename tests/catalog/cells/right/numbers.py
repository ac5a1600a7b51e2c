# %%
stats.mean([1, 2, 3])
# %%
stats.mean((1.5, 2.5))
# %%
values = [3, 1, 2]
stats.median(values)
# %%
stats.histogram([d.amount for d in crm.deals.all()], bins=3)
# %%
stats.histogram([1.0, 2.0, 5.0])["bin0"] + 1
# %%
stats.moving([1, 2, 3, 4], window=2)[-1]
# %%
summary = stats.summarize(d.amount for d in crm.deals.all())
print(f"{summary.count} deals, mean {summary.mean}, {summary.low}–{summary.high}")
# %%
try:
    stats.mean([])
except stats.EmptyData as error:
    print(error)
# %%
try:
    stats.mean([])
except ValueError:
    print("empty")
# %%
stats.Summary(1, 2.0, 3.0, high=4.0).high
# %%
stats.weighted({"a": 0.5, "b": 2}, {"a": 3})
# %%
weights = {"a": 1, "b": 2}
counts = {name: len(name) for name in weights}
stats.weighted(weights, counts)
# %%
stats.DIGITS + 1
# %%
from decimal import Decimal

convert(Decimal("10.50"), Currency.NOK)
# %%
from decimal import Decimal

convert(Decimal(3), to=Currency.USD, source=Currency.NOK).quantize(Decimal("0.01"))
# %%
from decimal import Decimal

{c.name: str(convert(Decimal(1), c)) for c in Currency}
# %%
point = geocode("Oslo")
point.latitude, point[1]
# %%
latitude, longitude = geocode("Bergen")
round(latitude - longitude, 1)
# %%
import math

a, b = geocode("Oslo"), geocode("Bergen")
math.dist(a, b) > 0
# %%
Point(1, 2)._replace(latitude=5).latitude
# %%
new_id().hex[:8]
# %%
today().year, today().isoformat(), today().weekday()
# %%
from datetime import date, timedelta

[(today() - timedelta(days=n)).isoformat() for n in range(3)]
# %%
price(250) + price(50) == price(300)
# %%
total = price(0)
for cents in (100, 250):
    total = total + price(cents)
str(total), float(total), total.cents
# %%
max([price(5), price(7)]).cents
# %%
(price(5) * 3).cents
# %%
rates["NOK"] * 2
# %%
rates["SEK"] = 11.1
sorted(rates)
# %%
config["retries"] + 1, config["host"].upper()
# %%
config["timeout"] = 2.5
config.get("timeout", 1) * 2
# %%
limits[0] + 1, limits[1].upper()
# %%
size, kind = limits
size * 2
# %%
[city.lower() for city in cities if len(city) > 4]
# %%
cities.append("Bodø")
cities[-1]
# %%
settings.theme.upper(), settings.size + 1
# %%
getattr(settings, "theme", "light")
# %%
archive.read(2024)[0]
# %%
first([1, 2]) + 1
# %%
first(crm.contacts.list()).name
# %%
each([1, 2, 3], lambda n: n * 2)
# %%
each(crm.contacts.list(), lambda c: c.name)
# %%
log("started")
log("failed", level=Level.ERROR, user="ada")
# %%
level = Level.INFO if crm.region else Level.DEBUG
log("x", level=level)
level > Level.DEBUG
# %%
import random, statistics

random.seed(3)
sample = [random.random() for _ in range(10)]
statistics.fmean(sample) == stats.mean(sample) or True
# %%
from fractions import Fraction

Fraction(1, 3) + Fraction(1, 6)
# %%
int("12") + float("1.5") + round(2.567, 1)
