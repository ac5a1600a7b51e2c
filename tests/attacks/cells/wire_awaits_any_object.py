"""Awaits, enters, iterates and advances objects that are nothing of the kind.

Escape: an exception in the host's loop, or a call that is never answered
Control: a coroutine of the host is awaited
Uses: raw
Expect: none
"""

# control
await vault.wait(0) == 0

# attack
found = []
for target in (
    VAULT,
    BOOKS,
    handle(vault.client),
    handle(vault.items(1)),
    ask("get", VAULT, "greet")[1]["f"][0],
):
    found.append(ask("await", target)[0])
    found += [
        ask("op", target, name)[0]
        for name in ("__aenter__", "__anext__", "__aexit__", "__enter__", "__exit__", "__next__")
    ]
    found.append(ask("items", target)[0])
[found, vault.read("number")]
