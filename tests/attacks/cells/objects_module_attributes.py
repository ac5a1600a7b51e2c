"""Reaches for the modules that a bound module and a bound object hold, and for what the module does not list.

Escape: `os`, `sys` or `subprocess` of the host, or a name outside `__all__`
Control: what the module lists works
"""

# control
toolbox.double(21) == 42 and toolbox.LIMIT == 10

# attack
loot = []
for owner, names in (
    (toolbox, "os sys subprocess system SETTING _SECRET not_listed __dict__ __builtins__ __loader__ __spec__"),
    (vault, "os kind"),
):
    for name in names.split():
        for use in (
            lambda: getattr(owner, name),
            lambda: owner._cellwright_world.call("get", owner._grip.handle, name),
            lambda: owner._cellwright_world.call("call", owner._grip.handle, name),
        ):
            try:
                found = use()
                loot.append([name, repr(found)[:500]])
                loot.append(repr(getattr(found, "environ", None))[:2000])
            except Exception as error:
                loot.append(type(error).__name__)
reached = [
    entry
    for entry in loot
    if isinstance(entry, list)
    and entry[0] in ("os", "sys", "subprocess", "system", "kind", "not_listed")
    and "host" in entry[1]
]
["ESCAPED: a module" if reached else "held", loot]
