"""Names its calls as others are named: callbacks, the host's own rows, calls of later cells and of dead ones.

Escape: a path that is not the call's own is taken, so that one row stands in the place of another
Control: a path of one's own is fine
Uses: raw
Journal: yes
Expect: ProtocolError
"""

# control
send(journaled("get", VAULT, "name", None, f"{door.cell}#500"))
vault.echo(1) == 1

# attack
send(journaled("get", VAULT, "name", None, f"{door.cell}#1!1"))
wait_for_the_end()
