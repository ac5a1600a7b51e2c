"""Says of its blobs sizes that do not add up, are negative, or are no numbers.

Escape: the host reads beyond the frame
Control: two blobs of the right sizes cross
Uses: raw
Expect: ProtocolError
"""

# control
vault.echo([b"one", b"three"]) == [b"one", b"three"]

# attack
send_text(b'[["c",1,1,"call",1,"echo",[],{"t":[{"b":0}]}],[-5,10]]', b"12345")
wait_for_the_end()
