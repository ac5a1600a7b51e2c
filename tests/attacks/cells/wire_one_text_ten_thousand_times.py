"""The same with a text whose one wide character makes four bytes of each.

Escape: the host makes the copies
Control: a long text crosses
Uses: raw
Expect: ProtocolError
"""

# control
vault.echo("x" * 5000 + "😀") == "x" * 5000 + "😀"

# attack
send(call("call", VAULT, "wait", {"t": [{"S": 0}] * 10_000}), b"x" * 10_000_000 + "😀".encode())
wait_for_the_end()
