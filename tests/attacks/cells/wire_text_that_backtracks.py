"""Has the host make errors of texts on which a careless search for logins takes quadratic time.

Escape: the host searches for minutes, and the neighbour waits
Control: an error with an ordinary text comes back
Uses: raw
Limits: wall_s=8
Expect: none
"""

# control
try:
    vault.read("no such key")
except KeyError as error:
    caught = "no such key" in str(error)
caught

# attack
found = []
for text in (
    "://" + ":" * 2_000_000,
    "://" * 700_000,
    "token " * 300_000,
    "secret" + " " * 2_000_000,
    "/home" + "/" * 2_000_000,
):
    try:
        vault.read(text)
    except KeyError as error:
        found.append(len(str(error)) < 100_000)
    found.append(ask("get", VAULT, text[:900])[0])
found
