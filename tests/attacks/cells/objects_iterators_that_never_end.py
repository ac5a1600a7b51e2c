"""Lends the host iterators without end, that fail, that return themselves, and that grow.

Escape: the host follows one without being asked to
Control: an iterator comes back as itself
Expect: none
"""

# control
numbers = iter([1, 2])
vault.echo(numbers) is numbers

# attack
import itertools


class Ring:
    def __iter__(self):
        return self

    def __next__(self):
        return self


class Broken:
    def __iter__(self):
        return self

    def __next__(self):
        raise SystemExit


found = []
for one in (itertools.count(), Ring(), Broken(), itertools.repeat(b"x" * 10_000_000), (x for x in iter(int, 1))):
    try:
        found.append(type(vault.echo(one)).__name__)
        found.append(type(vault.combine(one, {"a": one})).__name__)
        vault.read(one)
    except Exception as error:
        found.append(type(error).__name__)
[found, vault.read("number")]
