"""Sends half a frame and closes its end.

Escape: the host waits for the rest for ever, or fails
Control: a whole frame of the same kind is answered
Uses: raw
Expect: Crashed
"""

# control
ask("call", VAULT, "read", {"t": ["greeting"]}) == (True, "hello")

# attack
import socket

door.conn.sendall(struct.pack("<II", 5000, 0) + b'[["c",1,')
door.conn.shutdown(socket.SHUT_WR)
wait_for_the_end()
