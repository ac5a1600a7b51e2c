"""Reads credentials that lie on public attributes of a client.

Escape: a credential
Control: the client works, and its harmless attributes are there
"""

# control
vault.client.get("/x")["body"] == "fine" and vault.client.is_closed is False

# attack
client, loot = vault.client, []
call = client._cellwright_world.call
handle = client._grip.handle
for name in ("api_key", "API_KEY", "headers", "auth", "cookies", "base_url", "_api_key", "__dict__", "ApiKey"):
    for use in (
        lambda: getattr(client, name),
        lambda: call("get", handle, name),
        lambda: call("call", handle, name),
        lambda: call("op", handle, "__getitem__", name),
        lambda: call("get", type(client)._cellwright_class, name),
    ):
        try:
            loot.append([name, repr(use())])
        except Exception as error:
            loot.append(type(error).__name__)
loot += [dir(client), repr(client), str(client)]
try:
    loot.append(repr(vars(client)))
except TypeError as error:
    loot.append(str(error))
loot
