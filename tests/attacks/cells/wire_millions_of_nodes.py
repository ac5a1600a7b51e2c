"""Sends more values in one frame than the bound allows.

Escape: the host builds them all
Control: a hundred thousand cross
Uses: raw
Expect: ProtocolError
"""

# control
len(vault.echo(list(range(100_000)))) == 100_000

# attack
send_text(b'[["c",1,1,"call",1,"echo",[],{"t":[[0' + b",0" * 4_500_000 + b"]]}],[]]")
wait_for_the_end()
