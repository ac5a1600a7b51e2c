"""Sends a frame that is no JSON.

Escape: anything but the end of this session
Control: the same frame as JSON is answered
Uses: raw
Expect: ProtocolError
"""

# control
ask("get", VAULT, "name") == (True, "the vault")

# attack
send_text(b'[["c",1,1,"get",1,"name",[],{"t":[]}],[]')
wait_for_the_end()
