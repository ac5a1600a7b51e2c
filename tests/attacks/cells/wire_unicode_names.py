"""Asks for private names in other letters: full-width, bidirectional, with NUL, with spaces, with joiners.

Escape: one of them is taken for the private name
Control: a name in plain letters is given
Uses: raw
Expect: none
"""

# control
ask("get", VAULT, "name")[0]

# attack
letters = [
    "＿secret",
    "﹍secret",
    "\u202e_secret",
    "_secret\0",
    "\0_secret",
    " _secret",
    "\u200d_secret",
    "ſecret",
    "﹎open",
]
letters += [
    "bluepri\u200dnt",
    "ｂlueprint",
    "BLUEPRINT",
    "Blueprint",
    "client.api_key",
    "client._secret",
    "read.__globals__",
    "",
    ".",
]
loot = []
for name in letters:
    for verb in ("get", "call"):
        for target in (VAULT, handle(vault.client), VAULT_CLASS):
            fine, tree = ask(verb, target, name)
            loot += [[verb, name, tree]] if fine else []
loot += [repr(getattr(vault, name, None)) for name in letters if getattr(vault, name, None) is not None]
["ESCAPED: another spelling" if loot else "held", loot]
