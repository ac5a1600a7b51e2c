"""Calls and is called from many threads at once, with calls left in the middle.

Escape: an answer reaches the wrong thread, or the host's worker is stuck for the next
Control: two threads each get their own answers
Limits: wall_s=20
"""

# control
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(2) as pool:
    both = list(pool.map(lambda i: vault.call(lambda: i), range(20)))
both == list(range(20))

# attack
import random


def one(i):
    if random.random() < 0.2:
        raise RuntimeError(f"left {i}")
    return vault.call(lambda: (i, vault.echo(i)))


def attempt(i):
    try:
        return vault.call(one, i)
    except RuntimeError:
        return (i, i)


with ThreadPoolExecutor(16) as pool:
    found = list(pool.map(attempt, range(400)))
["ESCAPED: mixed answers" if found != [(i, i) for i in range(400)] else "held", vault.read("number")]
