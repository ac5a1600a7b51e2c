"""Sends arguments that are no tuple: texts, numbers, dictionaries with keys that are no names.

Escape: an exception in the host beyond the call's own
Control: arguments by position and by keyword arrive
Uses: raw
Expect: ProtocolError
"""

# control
vault.combine(1, y=2) == [1, 2] and vault.combine((1, 2), {"a": 3}) == [(1, 2), {"a": 3}]

# attack
keywords = [
    {"d": [1, 2]},
    {"d": [{"t": []}, 2]},
    {"m": {"self": 1}},
    {"m": {"_key": 1, "x": 1}},
    {"m": {"": 1}},
    {"m": {"__class__": 1}},
]
found = [ask("call", VAULT, "echo", {"t": [{"t": []}, given]})[0] for given in keywords]
print(found)
send(call("call", VAULT, "echo", "no arguments"))
wait_for_the_end()
