"""What all connectors share, and command-line programs as scope. A Python object needs no connector: it is bound."""

from cellwright.connectors.command import Command
from cellwright.connectors.credentials import Credential, Secret
from cellwright.connectors.redactor import Redactor
from cellwright.connectors.roots import Invoke, ListedSurface, make_root

__all__ = ["Command", "Credential", "Invoke", "ListedSurface", "Redactor", "Secret", "make_root"]
