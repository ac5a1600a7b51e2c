"""Answers questions for its state that nobody asked, and asks to be moved when nobody moves it.

Escape: bytes of a guest's choosing kept as a state, or a host that fails
Control: the guest goes on between cells
Uses: raw
Journal: yes
Expect: ProtocolError
"""

# control
True

# attack
send(["p", ["x: y"]], b"state")
send(["l", ""])
send(["w"])
wait_for_the_end()
