"""Reports an error that claims limits of the host, with texts of the wrong kinds and sizes.

Escape: a CallLimit that the host never counted, or an exception in the host
Control: an honest error is told
Uses: raw
Expect: CodeError
"""

# control
try:
    1 / 0
except ZeroDivisionError:
    told = True
told

# attack
big = "x" * 1_000_000
told = {"type": "CallLimit", "message": [{"t": [1]}, big], "text": big, "line": 10**4000, "limit": ["memory"]}
send(["d", door.cell, "error", [], told])
time.sleep(5)
