"""Lends the host half a million functions in one call.

Escape: the host keeps an object for each
Control: a hundred functions are lent
Uses: raw
"""

# control
len(vault.echo([(lambda i=i: i) for i in range(100)])) == 100

# attack
text = b",".join(b'{"g":[%d,"function","f"]}' % i for i in range(300_000))
found = []
for _ in range(3):
    send_text(b'[["c",%d,1,"call",%d,"echo",[],{"t":[[%s]]}],[]]' % (next(numbers), VAULT, text))
vault.read("greeting")
