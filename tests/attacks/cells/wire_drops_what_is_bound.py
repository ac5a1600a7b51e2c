"""Lets go of objects bound by name, more often than they were sent.

Escape: the object is gone for this session, or freed in the host
Control: the object is there
Uses: raw
Expect: none
"""

# control
vault.read("number") == 7

# attack
for handle in range(1, 50):
    message = call("get", VAULT, "name")
    message[6] = [[handle, 10**4000], [handle, 1], [-handle, 5], [handle, 2**63]]
    send(message)
["ESCAPED: bound objects are gone" if vault.read("number") != 7 or len(books) != 2 else "held", toolbox.double(4)]
