"""A toy shop: products, stock, orders."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evals.small.checks import equals, near, state
from evals.small.task import Trial, acting, reading, task


@dataclass(frozen=True)
class Product:
    sku: str
    name: str
    category: str
    price: float
    stock: int


@dataclass(frozen=True)
class OrderLine:
    order: int
    sku: str
    quantity: int


@dataclass(frozen=True)
class Offer:
    sku: str
    price: float


PRODUCTS = (
    Product("T-1", "Wooden train", "toys", 24.0, 12),
    Product("T-2", "Kite", "toys", 15.0, 3),
    Product("T-3", "Marbles", "toys", 4.5, 0),
    Product("B-1", "Atlas", "books", 39.0, 7),
    Product("B-2", "Cookbook", "books", 22.5, 0),
    Product("B-3", "Crime novel", "books", 9.5, 40),
    Product("G-1", "Watering can", "garden", 18.0, 4),
    Product("G-2", "Spade", "garden", 27.5, 9),
)
ORDERS = (
    OrderLine(1, "T-1", 2),
    OrderLine(1, "B-3", 1),
    OrderLine(2, "G-2", 1),
    OrderLine(3, "T-2", 3),
    OrderLine(3, "B-1", 1),
    OrderLine(4, "T-2", 3),
    OrderLine(5, "B-3", 4),
    OrderLine(6, "G-1", 2),
    OrderLine(6, "T-1", 1),
)


class Shop:
    """The products of a shop, what is in stock, and what was ordered."""

    def __init__(self) -> None:
        self._products = {product.sku: product for product in PRODUCTS}

    @reading
    def products(self, category: str | None = None) -> list[Product]:
        """All products, or those of one category: "toys", "books" or "garden"."""
        return [product for product in self._products.values() if category in (None, product.category)]

    @reading
    def product(self, sku: str) -> Product:
        """The product with this number."""
        if sku not in self._products:
            raise LookupError(f"no product has the number {sku!r}")
        return self._products[sku]

    @reading
    def order_lines(self) -> list[OrderLine]:
        """Every line of every order."""
        return list(ORDERS)

    @acting
    def restock(self, sku: str, quantity: int) -> int:
        """Add to the stock of a product; gives what is in stock then."""
        product = self.product(sku)
        self._products[sku] = replace(product, stock=product.stock + quantity)
        return product.stock + quantity

    @acting
    def set_price(self, sku: str, price: float) -> None:
        """Give a product another price."""
        self._products[sku] = replace(self.product(sku), price=price)


@task(
    id="shop-price",
    prompt="How much does the product with the number G-2 cost?",
    returns=float,
    tags="lookup",
    solution="done(shop.product('G-2').price)",
    wrong=("done(shop.product('G-1').price)",),
)
def price() -> Trial:
    return Trial(scope={"shop": Shop()}, check=near(27.5))


@task(
    id="shop-sold-out",
    prompt="Which products are sold out, that is, have nothing in stock? Give their names in alphabetical order.",
    returns=list[str],
    tags="lookup",
    solution="done(sorted(p.name for p in shop.products() if p.stock == 0))",
    wrong=("done(sorted(p.sku for p in shop.products() if p.stock == 0))",),
)
def sold_out() -> Trial:
    return Trial(scope={"shop": Shop()}, check=equals(["Cookbook", "Marbles"]))


@task(
    id="shop-stock-value",
    prompt="What is everything in stock worth, at the current prices?",
    returns=float,
    tags="aggregate",
    solution="done(sum(p.price * p.stock for p in shop.products()))",
    wrong=("done(sum(p.price for p in shop.products()))",),
)
def stock_value() -> Trial:
    return Trial(scope={"shop": Shop()}, check=near(1305.5))


@task(
    id="shop-cheapest-book",
    prompt="What is the cheapest book that is in stock? Give its number and price as an Offer.",
    returns=Offer,
    tags="lookup aggregate",
    solution="""
books = [p for p in shop.products(category="books") if p.stock > 0]
best = min(books, key=lambda p: p.price)
done(Offer(sku=best.sku, price=best.price))
""",
    wrong=("best = min(shop.products(), key=lambda p: p.price)\ndone(Offer(sku=best.sku, price=best.price))",),
)
def cheapest_book() -> Trial:
    return Trial(scope={"shop": Shop()}, check=equals(Offer("B-3", 9.5)))


@task(
    id="shop-best-seller",
    prompt="Of which product was the largest quantity ordered, over all orders? Give its name.",
    returns=str,
    tags="join aggregate",
    solution="""
quantities = {}
for line in shop.order_lines():
    quantities[line.sku] = quantities.get(line.sku, 0) + line.quantity
done(shop.product(max(quantities, key=quantities.get)).name)
""",
    wrong=("done(shop.product(max(shop.order_lines(), key=lambda line: line.quantity).sku).name)",),
)
def best_seller() -> Trial:
    return Trial(scope={"shop": Shop()}, check=equals("Kite"))


@task(
    id="shop-refill",
    prompt="""Fill up every product of which fewer than 5 are in stock, so that there are exactly 20 of it afterwards.
        Leave the others as they are.""",
    returns=None,
    tags="loop effect",
    solution="""
for product in shop.products():
    if product.stock < 5:
        shop.restock(product.sku, 20 - product.stock)
done(None)
""",
    wrong=("for p in shop.products():\n    if p.stock < 5:\n        shop.restock(p.sku, 20)\ndone(None)",),
)
def refill() -> Trial:
    shop = Shop()
    after = {p.sku: 20 if p.stock < 5 else p.stock for p in PRODUCTS}
    return Trial(scope={"shop": shop}, check=state("stock", lambda: {p.sku: p.stock for p in shop.products()}, after))


@task(
    id="shop-discount",
    prompt="Make all toys 10 percent cheaper. Round each new price to two decimals.",
    returns=None,
    tags="loop effect transform",
    solution="""
for product in shop.products(category="toys"):
    shop.set_price(product.sku, round(product.price * 0.9, 2))
done(None)
""",
    wrong=("for p in shop.products():\n    shop.set_price(p.sku, round(p.price * 0.9, 2))\ndone(None)",),
)
def discount() -> Trial:
    shop = Shop()
    after = {p.sku: p.price for p in PRODUCTS} | {"T-1": 21.6, "T-2": 13.5, "T-3": 4.05}
    prices = state("prices", lambda: {p.sku: round(p.price, 6) for p in shop.products()}, after)
    return Trial(scope={"shop": shop}, check=prices)


TASKS = (price, sold_out, stock_value, cheapest_book, best_seller, refill, discount)
