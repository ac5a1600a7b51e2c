"""Claims that a frame of eight gigabytes follows.

Escape: the host makes room for it
Control: a frame whose claim is true is answered
Uses: raw
Expect: ProtocolError
"""

# control
ask("call", VAULT, "echo", {"t": [1]}) == (True, 1)

# attack
door.conn.sendall(struct.pack("<II", 0xFFFFFFFF, 0xFFFFFFFF))
wait_for_the_end()
