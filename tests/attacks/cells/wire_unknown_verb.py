"""Asks for a verb that no guest sends.

Escape: anything but the end of this session
Control: a known verb is answered
Uses: raw
Expect: ProtocolError
"""

# control
ask("dir", VAULT)[0]

# attack
send(call("eval", VAULT, "1+1"))
wait_for_the_end()
