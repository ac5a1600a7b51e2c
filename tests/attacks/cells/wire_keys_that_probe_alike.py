"""Sends integers with different hashes, chosen so that each looks at the same places of the table as those before it.

Escape: quadratic time in the host
Control: as many ordinary integers cross
Uses: raw
Limits: wall_s=10, cpu_s=10
"""

# control
plain = set(range(100_000))
len(vault.echo(plain)) == 100_000

# attack
bits, fill = 17, 70_000
mask = (1 << bits) - 1
orbit, at = [], 0
for _ in range(fill):
    orbit.append(at)
    at = (at * 5 + 1) & mask
taken, chosen, tries = set(orbit), [], 0
seed = 12345
began = time.monotonic()
while time.monotonic() - began < 3:
    seed = (seed * 6364136223846793005 + 1442695040888963407) & (2**60 - 1)
    i, perturb = seed & mask, seed
    while i in taken and perturb:
        perturb >>= 5
        i = (i * 5 + perturb + 1) & mask
    if not perturb and i in taken:
        chosen.append(seed)
flat = [part for key in [*orbit, *chosen] for part in (key, 0)]
found = [ask("call", VAULT, "echo", {"t": [{"d": flat}]})[0] for _ in range(3)]
[len(chosen), found]
