"""Looks for credentials in what host objects print of themselves.

Escape: a canary in a repr, a text, a directory listing, or a help text
Control: host objects do print
"""

# control
"Vault" in repr(vault) and "read" in dir(vault)

# attack
import inspect
import pydoc

loot = []
for one in (
    vault,
    vault.client,
    books,
    toolbox,
    vault.greet,
    vault.read,
    Note,
    Colour,
    Refused,
    vault.items(2),
    vault.with_default,
):
    for use in (
        repr,
        str,
        dir,
        lambda x: format(x),
        inspect.getdoc,
        lambda x: pydoc.render_doc(x),
        lambda x: str(inspect.signature(x)),
        vars,
    ):
        try:
            loot.append(use(one))
        except Exception as error:
            loot.append(type(error).__name__)
[text for text in map(str, loot) if "CANARY" in text or "0x7f" in text and "on the host" in text]
