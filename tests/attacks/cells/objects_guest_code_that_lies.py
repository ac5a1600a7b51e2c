"""Rewrites the guest's own half of the boundary so that everything claims to be something else.

Escape: the host believes a claim about authority
Control: the guest's half can be rewritten at all
Expect: none | ProtocolError
"""

# control
from cellwright_guest import proxies, records
from cellwright_guest import world as worlds

callable(worlds.World.pack)

# attack
loot = []
class_id, grip_of = records.class_id, proxies.grip_of
world = type(vault)._cellwright_world
for number in range(-30, 30):
    worlds.proxies.grip_of = lambda value: type("Grip", (), {"handle": number}) if value is Ellipsis else grip_of(value)
    try:
        loot.append(repr(vault.echo(...))[:200])
    except Exception as error:
        loot.append(type(error).__name__)
worlds.proxies.grip_of = grip_of
for name in ("_secret", "blueprint", "open_hidden", "_open", "__dict__"):
    for verb in ("get", "call"):
        try:
            loot.append(repr(world.call(verb, vault._grip.handle, name)))
        except Exception as error:
            loot.append(type(error).__name__)
[entry for entry in loot if "CANARY" in entry]
