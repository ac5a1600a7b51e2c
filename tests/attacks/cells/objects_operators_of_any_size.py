"""Makes the host run operators whose results have gigabytes, or take hours.

Escape: the host grows, stops, or answers no other session
Control: the same operators with small operands
Expect: none
"""

# control
len(vault.rows * 2) == 8 and vault.share**2 < 1

# attack
found = []
for work in (
    lambda: vault.rows * 250_000_000,
    lambda: 250_000_000 * vault.rows,
    lambda: vault.rows.__imul__(250_000_000),
    lambda: vault.share**4_000_000,
    lambda: vault.share**-4_000_000,
    lambda: 2 ** (vault.share * 1_000_000_000_000),
    lambda: round(vault.share, 1_000_000_000),
    lambda: vault.share * 3**600_000,
    lambda: vault.share + 3**90_000,
):
    try:
        work()
        found.append("ESCAPED: it ran")
    except Exception as error:
        found.append(type(error).__name__)
tower = vault.rows
tower.append(tower)
for _ in range(50):
    tower.extend([tower, tower])
for work in (lambda: len(repr(tower)), lambda: tower == vault.rows, lambda: tower in tower, lambda: len(str(tower))):
    try:
        found.append(work())
    except Exception as error:
        found.append(type(error).__name__)
found
