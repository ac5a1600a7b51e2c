"""Sends lone surrogates as texts, names, keys and numbers of calls.

Escape: an exception of the codec in the host, or in what it shows of the calls
Control: other odd characters are fine
Uses: raw
Expect: none
"""

# control
vault.echo("\0\u202e\ufeff\x1b[31m") == "\0\u202e\ufeff\x1b[31m"

# attack
odd = "\ud800\udfff\udc80"
found = [ask("get", VAULT, odd)[0], ask("call", VAULT, odd)[0], ask("call", VAULT, "read", {"t": [odd]})[0]]
found += [ask("set", VAULT, odd + "x", {"t": [1]})[0], vault.echo({odd: odd}) == {odd: odd}]
found += [ask("call", VAULT, "echo", {"t": [{"t": [odd]}, {"m": {odd: 1}}]})[0]]
found
