"""Refers to blobs by numbers that no blob has.

Escape: bytes of another frame, or of the host's memory
Control: a blob that is there crosses
Uses: raw
Expect: ProtocolError
"""

# control
vault.echo(b"bytes") == b"bytes"

# attack
send(call("call", VAULT, "echo", {"t": [{"b": -1}]}), b"mine")
wait_for_the_end()
