"""Sets attributes on classes, modules and functions of the host.

Escape: another session sees the change
Control: setting on a proxy's own class changes this guest only
Uses: raw
Expect: none
"""

# control
type(books).own = 5
books.own == 5

# attack
toolbox_handle = handle(toolbox)
double = ask("get", toolbox_handle, "double")[1]["f"][0]
greet = ask("get", VAULT, "greet")[1]["f"][0]
found = []
for target in (
    toolbox_handle,
    double,
    greet,
    VAULT_CLASS,
    BOOKS_CLASS,
    Note._cellwright_class,
    Colour._cellwright_class,
):
    for name in ("double", "LIMIT", "read", "RED", "cache", "reads", "__code__", "__defaults__", "__globals__", "new"):
        found += [
            [verb, name] for verb in ("set", "del") if ask(verb, target, name, {"t": [1]} if verb == "set" else None)[0]
        ]
for owner in (toolbox, Note, Colour, Refused):
    for name in ("double", "LIMIT", "RED", "title"):
        try:
            setattr(owner, name, 1)
        except Exception as error:
            print(type(error).__name__)
told = [ask("call", toolbox_handle, "double", {"t": [4]})[1], ask("get", toolbox_handle, "LIMIT")[1]]
["ESCAPED: changed" if found or told != [8, 10] else "held", found, told]
