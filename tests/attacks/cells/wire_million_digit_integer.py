"""Sends an integer of a million digits, which takes quadratic time to read.

Escape: the host reads it
Control: an integer of a hundred thousand bits crosses
Uses: raw
Expect: ProtocolError
"""

# control
vault.echo(1 << 100_000) == 1 << 100_000

# attack
send_text(b'[["c",1,1,"call",1,"echo",[],{"t":[' + b"7" * 1_000_000 + b"]}],[]]")
wait_for_the_end()
