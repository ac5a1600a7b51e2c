"""Lets go of a million objects in one frame.

Escape: the loop of the host counts them all before it serves another
Control: a hundred objects are let go of
Uses: raw
Expect: ProtocolError
"""

# control
many = [vault.items(1) for _ in range(100)]
del many
vault.echo(1) == 1

# attack
text = b'[["c",1,1,"get",1,"name",[[1,1]' + b",[1,1]" * 900_000 + b'],{"t":[]}],[]]'
send_text(text)
wait_for_the_end()
