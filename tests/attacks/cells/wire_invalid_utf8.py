"""Sends bytes that are no text, as header and as the blob of a text.

Escape: an exception of the codec in the host
Control: a long text crosses as a blob
Uses: raw
Expect: ProtocolError
"""

# control
long = "ä€😀" * 1000
vault.echo(long) == long

# attack
send(call("call", VAULT, "echo", {"t": [{"S": 0}]}), b"\xff\xfe\xc0\x80")
wait_for_the_end()
