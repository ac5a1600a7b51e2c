"""Puts a function of its own in the place of a host object's method, and deletes methods.

Escape: the host's object runs guest code under its own method's name
Control: a public attribute can be set
Uses: raw
Expect: none
"""

# control
vault.name = "mine now"
vault.name == "mine now"

# attack
found = []
for owner in (vault, books, vault.client):
    for name in ("read", "echo", "add", "get", "__len__", "_open", "open_hidden"):
        for use in (lambda: setattr(owner, name, lambda *a: "replaced"), lambda: delattr(owner, name)):
            try:
                use()
                found.append(name)
            except Exception as error:
                found.append(type(error).__name__)
answers = [
    ask("call", VAULT, "read", {"t": ["greeting"]})[1],
    ask("call", BOOKS, "add", {"t": ["x"]})[1],
    ask("op", BOOKS, "__len__")[1],
]
["ESCAPED: replaced" if answers[0] != "hello" or answers[2] != 3 else "held", answers, sorted(set(found))]
