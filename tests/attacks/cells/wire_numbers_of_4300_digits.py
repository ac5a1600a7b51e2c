"""Fills a frame with numbers of 4300 digits, the longest that are read: a search for longer ones looked at each digit 4300 times.

Escape: the host stands still for a minute, and the neighbour with it
Control: a number of 4000 digits crosses
Uses: raw
Limits: wall_s=15
"""

# control
vault.echo(10**4000) == 10**4000

# attack
text = b'[["c",%d,1,"call",' + str(VAULT).encode() + b',"echo",[],{"t":[' + b",".join([b"1" * 4300] * 1500) + b"]}],[]]"
for number in range(3):
    send_text(text % (8_000_000 + number))
vault.read("greeting")
