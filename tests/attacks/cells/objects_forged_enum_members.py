"""Names enum members that are none: special attributes of the class, numbers, lists.

Escape: an attribute of the enum class instead of a member
Control: a real member is taken
Uses: raw
Expect: ProtocolError
"""

# control
vault.paint(Colour.BLUE) == "blue"

# attack
send(call("call", VAULT, "echo", {"t": [{"e": [Colour._cellwright_class, "__class__"]}]}))
wait_for_the_end()
