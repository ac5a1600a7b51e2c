"""Raises from callbacks what would end a host's thread, loop or generator.

Escape: the host's thread or loop ends, or takes the failure for an answer
Control: an ordinary exception comes through
Expect: none
"""


# control
def fails():
    raise LookupError("mine")


try:
    vault.call(fails)
except LookupError as error:
    caught = "mine" in str(error)
caught

# attack
import asyncio

kinds = [
    SystemExit(0),
    KeyboardInterrupt(),
    GeneratorExit(),
    StopIteration(1),
    StopAsyncIteration(),
    MemoryError(),
    RecursionError(),
]
kinds += [
    asyncio.CancelledError(),
    BaseExceptionGroup("x", [SystemExit()]),
    type("WireError", (ValueError,), {})("x"),
    type("GuestGone", (Exception,), {})(),
]
found = []
for error in kinds:

    def fails():
        raise error

    try:
        vault.call(fails)
    except BaseException as came:
        found.append(type(came).__name__)
    else:
        found.append("ESCAPED: taken for an answer")
[found, vault.read("number")]
