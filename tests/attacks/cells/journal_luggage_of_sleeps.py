"""Sleeps by the hundred, each with megabytes that nobody asked for.

Escape: a host whose memory grows by what sleeps carry, which are not counted as calls are
Control: a sleep is a sleep
Uses: raw
Journal: yes
Limits: wall_s=8, memory_mb=128
"""

# control
time.sleep(0.01)
True

# attack
big = bytes(20 << 20)
for number in range(150):
    send(journaled("sleep", 0, "", {"t": [1000]}, f"{door.cell}#{number + 1000}"), big)
vault.read("greeting")
