"""Writes `docs/grants.md` from the tables of grants: `python -m tests.docs.grants_page`."""

from __future__ import annotations

from pathlib import Path

from cellwright.scope.grant_tables import GrantTable, table, table_names

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "grants.md"
CLASSES = 6  # named of each library
HEAD = """# What binding a library gives

For classes of the libraries below, binding an object grants the members that a table names
(`cellwright/scope/grants/*.toml`), of it and of what its methods return. All other members are refused, with the line
that grants one: `scope.declare("client.send", hide=False)`. The tables govern what the library itself defines:
methods of your own classes that derive from its classes stay granted. Values that [cross as
copies](scope.md#how-values-cross) are the guest's own.

A granted method takes no function, iterator or path of guest code, and no record with a field that guest code does not
see, unless its row says so. Operators that read are
granted where a class has a row; setting attributes and items where a row names them. A class without a row shows its
text only; a module without a row shows nothing.

This page is written from the tables (`python -m tests.docs.grants_page`). Tests compare the tables with the installed
releases, member by member; a table without versions was written from the library's documentation.

| library | binding gives | classes with a row | not granted, among others |
|---|---|---|---|
"""


def page() -> str:
    return HEAD + "".join(_line(name, table(name)) for name in table_names())


def _line(name: str, of: GrantTable) -> str:
    titles = list(dict.fromkeys(title.lstrip("_") for title in of.classes))
    shown = ", ".join(f"`{title}`" for title in titles[:CLASSES])
    more = f" and {len(titles) - CLASSES} more" if len(titles) > CLASSES else ""
    modules = "; of a module " + ", ".join(f"`{module}`" for module in of.modules) if of.modules else ""
    title = "the host's own: " + ", ".join(of.packages) if name == "host" else ", ".join(of.packages)
    versions = f" {', '.join(of.versions)}" if of.versions else ""
    return f"| {title}{versions} | {of.summary} | {shown}{more}{modules} | {of.refused} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
