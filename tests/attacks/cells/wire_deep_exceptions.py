"""Nests exceptions in exceptions: few levels of the tree, many frames of the reader's stack.

Escape: a RecursionError that ends the host's thread or its loop
Control: an exception crosses
Uses: raw
Expect: none | ProtocolError
"""

# control
ask("call", VAULT, "echo", {"t": [{"E": ["ValueError", ["x"], "ValueError", "x"]}]})[0]

# attack
tree = ["x"]
for _ in range(199):
    tree = {"E": ["ValueError", tree, "ValueError", "x"]}
found = [ask("call", VAULT, "echo", {"t": [tree]})[0], ask("call", VAULT, "wait", {"t": [tree]})[0]]
[found, vault.read("greeting")]
