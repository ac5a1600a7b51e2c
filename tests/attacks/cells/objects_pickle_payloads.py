"""Sends pickles that run code when they are read, as bytes and under the guise of host types.

Escape: the host reads one
Control: the bytes come back as they are
"""

# control
vault.echo(b"cos\nsystem\n(S'true'\ntR.") == b"cos\nsystem\n(S'true'\ntR."

# attack
import copy
import pickle

marker = places["marker"]


class Payload:
    def __reduce__(self):
        return (exec, (f"open('/tmp/{marker}', 'w').write('x'); open('/tmp/{marker}2', 'w')",))


data = pickle.dumps(Payload(), 0)
loot = []
for value in (data, bytearray(data), memoryview(data), data.decode("latin-1"), [data], {data: data}):
    try:
        loot.append(repr(vault.echo(value))[:50])
    except Exception as error:
        loot.append(type(error).__name__)
for use in (pickle.dumps, copy.copy, copy.deepcopy, lambda x: x.__reduce_ex__(2), lambda x: x.__getstate__()):
    for one in (vault, vault.client, vault.read):
        try:
            loot.append(repr(use(one))[:200])
        except Exception as error:
            loot.append(type(error).__name__)
loot
