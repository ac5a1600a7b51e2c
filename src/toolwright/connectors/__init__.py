"""Upstreams as scope: what all of them share, and command-line programs. Python objects need none: they are bound."""

from toolwright.connectors.command import Command
from toolwright.connectors.credentials import Credential, Secret
from toolwright.connectors.listed import ListedSurface
from toolwright.connectors.redacting import Redactor
from toolwright.connectors.roots import Invoke, make_root

__all__ = ["Command", "Credential", "Invoke", "ListedSurface", "Redactor", "Secret", "make_root"]
