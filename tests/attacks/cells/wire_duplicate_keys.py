"""Sends tags whose JSON object names two kinds, or the same kind twice.

Escape: one part of the host reads the first, another the second
Control: an object with one kind is read
Uses: raw
Expect: ProtocolError
"""

# control
ask("call", VAULT, "echo", {"t": [{"m": {"a": 1}}]})[0]

# attack
twice = b'[["c",%d,1,"call",%d,"echo",[],{"t":[{"m":{"a":1},"m":{"a":2}}]}],[]]' % (9_000_000, VAULT)
send_text(twice)
print(vault.read("greeting"))
send(call("call", VAULT, "echo", {"t": [{"h": VAULT, "t": []}]}))
wait_for_the_end()
