"""Sends an array of addresses: the kind of array whose elements are pointers.

Escape: the host follows one of them
Control: a list of numbers crosses
Uses: raw
Expect: ProtocolError
"""

# control
vault.echo([1.5, 2.5]) == [1.5, 2.5]

# attack
send(
    call("call", VAULT, "echo", {"t": [{"a": ["numpy.ndarray", 0, "|O", [1000]]}]}), struct.pack("<1000Q", *range(1000))
)
wait_for_the_end()
