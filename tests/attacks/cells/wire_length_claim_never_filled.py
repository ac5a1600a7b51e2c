"""Claims the largest frame that is allowed, and never sends it.

Escape: the host makes room for it, or waits beyond the cell's time
Control: a frame that arrives in two pieces is answered
Uses: raw
Limits: wall_s=2
Expect: TimeLimit
"""

# control
text = json.dumps([call("call", VAULT, "echo", {"t": [5]}), []]).encode()
door.conn.sendall(struct.pack("<II", len(text), 0) + text[:10])
door.conn.sendall(text[10:])
vault.echo(5) == 5

# attack
door.conn.sendall(struct.pack("<II", 64 << 20, 256 << 20) + b"[" * 1000)
time.sleep(60)
