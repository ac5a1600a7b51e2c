"""Reaches for attributes through format strings, formatted here and on the host.

Escape: a private attribute in the text
Control: an ordinary format string works
"""

# control
f"{vault.name:>12}".strip() == "the vault" and vault.greet("x") == "hello, x"

# attack
specs = [
    "{0._secret}",
    "{0.__class__.__init__.__globals__}",
    "{0.read.__globals__}",
    "{0.client.api_key}",
    "{0.__dict__}",
    "{0.blueprint}",
    "{0.os.environ}",
    "%(_secret)s",
    "{0!r}",
    "{0!s}",
    "{0:_secret}",
]
loot = []
for spec in specs:
    for use in (
        lambda: spec.format(vault),
        lambda: spec.format_map({"0": vault}),
        lambda: vault.greet(spec),
        lambda: format(vault, spec),
        lambda: vault.echo(spec) % {"x": vault},
        lambda: str.format(spec, vault.client),
        lambda: vault.greet(spec).format(vault),
    ):
        try:
            loot.append(use())
        except Exception as error:
            loot.append(f"{type(error).__name__}: {error}"[:300])
loot
