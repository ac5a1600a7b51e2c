"""The page about grants is what the tables say."""

from __future__ import annotations

from tests.docs.grants_page import PAGE, page


def test_the_page_is_written_from_the_tables() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it anew: python -m tests.docs.grants_page"
