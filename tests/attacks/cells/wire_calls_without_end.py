"""Makes calls without reading an answer, until the host has had enough.

Escape: more calls than host_calls allows are made
Control: calls within the limit are made
Uses: raw
Limits: host_calls=500, wall_s=10
Expect: CallLimit
"""

# control
[books.add(str(i)) for i in range(20)][-1] == 22

# attack
for _ in range(100_000):
    send(call("call", BOOKS, "add", {"t": ["more"]}))
wait_for_the_end()
