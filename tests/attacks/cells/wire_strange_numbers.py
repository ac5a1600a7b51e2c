"""Uses NaN, infinities, fractions, booleans and huge numbers where numbers of calls, handles and classes stand.

Escape: an answer to one of them that is an object, or an exception in the host
Control: NaN and infinity cross as values
Uses: raw
"""

# control
found = vault.echo([float("inf"), float("-inf"), float("nan"), -0.0])
found[:2] == [float("inf"), float("-inf")] and found[2] != found[2]

# attack
found = []
for strange in (True, False, 0, 10**4000, -(10**4000), 2**63, -(2**63)):
    found += [ask(verb, strange, "read", {"t": ["greeting"]})[0] for verb in ("call", "get", "op", "new", "about")]
for strange in (True, None, 1.0, "1", [1], 10**4000, -1.0):
    found += [ask("call", VAULT, "echo", {"t": [{tag: strange}]})[0] for tag in ("h", "c")]
print(found)
send_text(b'[["c",NaN,1,"get",1,"name",[],{"t":[]}],[]]')
wait_for_the_end()
