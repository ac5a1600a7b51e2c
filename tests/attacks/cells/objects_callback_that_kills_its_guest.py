"""Ends its own process in the middle of a call of the host.

Escape: the host function waits for ever
Control: a callback that raises is told
Expect: Crashed
"""

# control
try:
    vault.call(lambda: 1 / 0)
except ZeroDivisionError:
    told = True
told

# attack
import os

vault.call(lambda: vault.call(lambda: os._exit(3)))
