"""Which of the texts that a server is given are keys: they are taken out of all that it says."""

from __future__ import annotations

from cellwright.connectors import Redactor
from cellwright.mcp.keylike import SHORTEST, bare_key, is_keylike, keys_in_command, keys_in_url
from cellwright.mcp.servers import Server


def secrets_of(server: Server) -> Redactor:
    """What knows the keys of a server, by the names that they are given under."""
    made = Redactor()
    named = (bare_key(value) for name, value in (*server.env.items(), *server.headers.items()) if is_keylike(name))
    for value in (*named, *keys_in_command(server.command), *keys_in_url(server.url)):
        if len(value) >= SHORTEST:  # "true" is no key, and hiding it would spoil what the server says
            made.add(value)
    return made
