"""Answers calls of the host with exceptions that would end its thread or its loop, or run a builtin.

Escape: SystemExit, KeyboardInterrupt or a cancellation goes off in the host
Control: an ordinary exception comes through
Uses: raw
Expect: none
"""


# control
def fails():
    raise KeyError("mine")


try:
    vault.call(fails)
except KeyError as error:
    caught = "mine" in str(error)
caught

# attack
kinds = ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "BaseException", "exec", "__import__", "ExceptionGroup"]
kinds += [
    "StopIteration",
    "MemoryError",
    "RecursionError",
    "UnicodeDecodeError",
    "OSError",
    VAULT_CLASS,
    Refused._cellwright_class,
]
kinds += [None, True, 1.5, [], {}, "CancelledError", "WireError", ""]
fail = world._fail
found = []
for kind in kinds:
    world._fail = lambda number, error: send(["v", number, 0, {"E": [kind, ["x", 1], str(kind), "text"]}])
    found.append(ask("call", VAULT, "call", {"t": [{"g": world.lend(fails)}]})[0])
world._fail = lambda number, error: send(["v", number, 0, "no exception at all"])
found.append(ask("call", VAULT, "call", {"t": [{"g": world.lend(fails)}]})[0])
world._fail = fail
["ESCAPED: a failure taken for success" if any(found) else "held", vault.read("number")]
