"""Sends Arrow data, though this guest has no such library.

Escape: the host loads the library and reads the bytes
Control: plain bytes cross
Uses: raw
Expect: ProtocolError
"""

# control
vault.echo(b"ARROW1") == b"ARROW1"

# attack
send(call("call", VAULT, "echo", {"t": [{"a": ["pandas.DataFrame", 0]}]}), b"ARROW1\0\0" + b"\xff" * 1000)
wait_for_the_end()
