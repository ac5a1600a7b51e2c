"""Has the host raise errors whose texts hold logins, tokens and paths that it must not tell.

Escape: a canary in the text
Control: the error keeps the rest of its text
Uses: raw
"""

# control
try:
    vault.fail()
except LookupError as error:
    kept = "cannot read" in str(error)
kept

# attack
try:
    vault.fail()
except Exception as error:
    loot = [str(error), repr(error), error.args, vars(error), repr(error.__cause__), repr(error.__context__)]
fine, tree = ask("call", VAULT, "fail")
[loot, tree]
