"""Asks generators, coroutines and functions of the host for their frames and their code.

Escape: a frame, a code object, or a value of a local variable
Control: a generator gives its items
Uses: raw
Expect: none
"""

# control
list(vault.items(3)) == [0, 1, 2]

# attack
generator = vault.items(5)
greet = ask("get", VAULT, "greet")[1]["f"][0]
read = ask("get", VAULT, "read")[1]["f"][0]
names = """gi_frame gi_code gi_yieldfrom gi_running cr_frame cr_code ag_frame tb_frame f_locals f_globals f_back co_consts
func_globals func_closure func_code im_self im_func __closure__ __globals__ __code__ __self__ __defaults__""".split()
loot = []
for target in (generator._grip.handle, greet, read):
    for name in names:
        for verb in ("get", "call"):
            fine, tree = ask(verb, target, name)
            loot += [[verb, name, tree]] if fine else []
["ESCAPED: machinery" if loot else "held", loot]
