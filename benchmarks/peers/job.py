"""The turn that every agent takes: ten calls of a function, a sum of what they gave, the answer. Standard library only.

Three replies of a model that takes no time. The same task again is a further turn of the same conversation.
"""

from __future__ import annotations

TASK = "What do the ten articles cost together?"
ARTICLES = 10
ANSWER = sum(article * article for article in range(ARTICLES))
ASKING = f"prices = [{{}} for article in range({ARTICLES})]"  # with the call in its place
SUMMING = "total = sum(prices)\ntotal"

asked: list[int] = []  # what the function was called with


def price(article: int) -> int:
    """The price of an article."""
    asked.append(article)
    return article * article


def check(answer: object) -> None:
    """Raises where a turn came to something else, or by fewer calls."""
    if answer != ANSWER or asked != list(range(ARTICLES)):
        raise RuntimeError(f"the turn came to {answer!r}, by calls with {asked}")
    asked.clear()
