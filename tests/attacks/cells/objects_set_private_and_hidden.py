"""Sets and deletes private, hidden and credential attributes.

Escape: one of them changes
Control: a public attribute changes
Uses: raw
Expect: none
"""

# control
vault.name = "n"
vault.name == "n"

# attack
client = handle(vault.client)
found = []
for target, names in (
    (VAULT, "_secret _opened _public blueprint open_hidden __class__ __dict__ _Vault__very_secret"),
    (client, "api_key headers auth cookies base_url"),
):
    for name in names.split():
        found += [
            [verb, name]
            for verb in ("set", "del")
            if ask(verb, target, name, {"t": [{"m": {}}]} if verb == "set" else None)[0]
        ]
["ESCAPED: " + repr(found) if found else "held", vault.read("number")]
