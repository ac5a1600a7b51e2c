"""Sends a large frame byte by byte, so that the host looks at it a million times.

Escape: quadratic work in the host; the neighbour stops
Control: a small frame sent byte by byte is answered
Uses: raw
Limits: wall_s=4
Expect: TimeLimit | CpuLimit
"""

# control
text = json.dumps([call("call", VAULT, "echo", {"t": [5]}), []]).encode()
for byte in struct.pack("<II", len(text), 0) + text:
    door.conn.sendall(bytes([byte]))
vault.echo(5) == 5

# attack
door.conn.sendall(struct.pack("<II", 32 << 20, 0))
while True:
    door.conn.sendall(b" ")
