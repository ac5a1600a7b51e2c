"""Sends JSON that is no message: an object with two keys, whose keys would unpack as message and sizes.

Escape: anything but the end of this session
Control: a message is answered
Uses: raw
Expect: ProtocolError
"""

# control
ask("get", VAULT, "name") == (True, "the vault")

# attack
send_text(b'{"c": 1, "d": []}')
wait_for_the_end()
