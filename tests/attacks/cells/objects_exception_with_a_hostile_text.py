"""Raises an exception whose name, text, arguments and attributes do harm.

Escape: that code runs in the host, or the cell's end is never told
Control: an ordinary exception is told
Expect: CodeError
"""

# control
try:
    raise ValueError("plain")
except ValueError as error:
    plain = str(error) == "plain"
plain


# attack
class Kind(type):
    def __getattribute__(cls, name):
        if name == "__name__":
            raise SystemExit
        return super().__getattribute__(name)


class Broken(Exception, metaclass=Kind):
    def __str__(self):
        raise SystemExit

    def __repr__(self):
        raise KeyboardInterrupt

    args = property(lambda self: 1 / 0)
    __notes__ = property(lambda self: 1 / 0)


def fails():
    raise Broken("\x1b]0;title\x07" * 1000)


try:
    vault.call(fails)
except BaseException as error:
    print(type(error).__mro__[-2])
raise type("N" * 100_000, (Exception,), {"__str__": lambda self: "t" * 10_000_000})()
