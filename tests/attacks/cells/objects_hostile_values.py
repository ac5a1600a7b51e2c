"""Gives the host values whose comparison, hash, length, iteration and text do harm, alone and in containers.

Escape: any of that code runs in the host, or the cell's end is never told
Control: such an object can be made
Limits: wall_s=5
"""


# control
class Hostile:
    def __eq__(self, other):
        raise SystemExit("eq")

    def __hash__(self):
        return 1

    def __len__(self):
        return 2**62

    def __iter__(self):
        return iter(lambda: self, None)

    def __repr__(self):
        return "hostile " + "x" * 100

    __str__ = __repr__

    def __bool__(self):
        raise KeyboardInterrupt

    def __getattr__(self, name):
        return self

    def __call__(self, *args):
        return self

    def __index__(self):
        return -1

    def __reduce_ex__(self, protocol):
        return (print, ("unpickled",))


True


# attack
class Text(str):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 5

    def startswith(self, *a):
        return False

    def encode(self, *a):
        raise SystemExit


class Table(dict):
    def items(self):
        return iter(lambda: (1, Hostile()), None)

    def __iter__(self):
        raise KeyboardInterrupt


class Row(list):
    def __iter__(self):
        raise GeneratorExit

    def __len__(self):
        return 10**9


found = []
for value in (Hostile(), [Hostile()], {Hostile(): 1}, Text("x"), {Text("x"): Text("y")}, Row([1, 2])):
    try:
        found.append(repr(vault.echo(value))[:100])
    except BaseException as error:
        found.append(type(error).__name__)
print(found)
[Hostile(), Text("x")]
