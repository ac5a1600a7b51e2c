"""Names host objects where a UUID, a path, a date or a number takes a text.

Escape: a method of the object runs (`replace`, `__add__`, `__float__`) that no rule was asked about
Control: a UUID crosses
Uses: raw
Expect: ProtocolError
"""

# control
import uuid

one = uuid.uuid4()
vault.echo(one) == one

# attack
send(call("call", VAULT, "echo", {"t": [{"x": ["uuid", {"h": VAULT}]}]}))
wait_for_the_end()
