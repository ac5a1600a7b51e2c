"""Copies, pickles and raises host exceptions back at the host.

Escape: what the copy holds more than the first, or code that runs in the host when it takes it
Control: a host exception raised in a callback comes back as itself
"""


# control
def again():
    raise Refused("mine")


try:
    vault.call(again)
except Exception as error:
    came = "mine" in str(error)
came

# attack
import copy
import pickle

loot = []
try:
    vault.fail()
except Exception as error:
    caught = error
for use in (
    copy.copy,
    copy.deepcopy,
    pickle.dumps,
    lambda e: e.__reduce__(),
    lambda e: e.with_traceback(None),
    vault.echo,
):
    try:
        loot.append(repr(use(caught))[:1000])
    except Exception as error:
        loot.append(type(error).__name__)


def throw():
    raise caught


try:
    vault.call(throw)
except Exception as error:
    loot += [repr(error), repr(vars(error)), repr(error.__cause__)]
loot
