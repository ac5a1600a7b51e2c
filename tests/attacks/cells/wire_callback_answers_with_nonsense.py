"""Answers a call of the host with trees that are none.

Escape: the host function hangs, or another session is ended for it
Control: a sane answer is taken
Uses: raw
"""

# control
vault.call(lambda: [1, 2]) == [1, 2]

# attack
found = []
for tree in ({"b": 5}, {"h": 10**9}, {"r": 3}, {"x": ["decimal", []]}, {"t": 5}, {"zz": 1}, {"m": [], "d": []}):
    world._reply = lambda number, value: send(["v", number, 1, tree])
    found.append(ask("call", VAULT, "call", {"t": [{"g": world.lend(lambda: 1)}]})[0])
["ESCAPED: nonsense accepted" if any(found) else "held", vault.read("number")]
