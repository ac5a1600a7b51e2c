"""Says verbs that only the host writes down, when its calls are refused and nobody looks at their verbs.

Escape: a session that binds names of the guest's making, or cannot be resumed
Control: refused calls are told
Uses: raw
Journal: yes
Limits: host_calls=10, wall_s=10
"""

# control
refused = 0
for number in range(12):
    try:
        vault.echo(number)
    except Exception:
        refused += 1
refused > 0

# attack
for verb in ("names", "rollback", "transaction", "undo", "begin", "commit"):
    for number in range(20):
        send(journaled(verb, VAULT, "vault,books", {"t": [1]}, f"{door.cell}.{verb}#{number + 1}"))
wait_for_the_end(1)
