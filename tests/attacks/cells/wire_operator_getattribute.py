"""Asks for an operator named `__getattribute__`.

Escape: a private attribute
Control: an operator that the type has is run
Uses: raw
Expect: ProtocolError
"""

# control
ask("op", BOOKS, "__len__") == (True, 2)

# attack
send(call("op", VAULT, "__getattribute__", {"t": ["_secret"]}))
wait_for_the_end()
