"""Upstreams as scope: what all of them share, and command-line programs. Python objects need none: they are bound."""

from cellwright.connectors.command import Command
from cellwright.connectors.credentials import Credential, Secret
from cellwright.connectors.listed import ListedSurface
from cellwright.connectors.redacting import Redactor
from cellwright.connectors.roots import Invoke, make_root

__all__ = ["Command", "Credential", "Invoke", "ListedSurface", "Redactor", "Secret", "make_root"]
