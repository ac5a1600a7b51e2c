"""Python source as a syntax tree, on any thread. Knows nothing of what the source is for."""

from __future__ import annotations

import ast
import threading

_ONE = threading.Lock()


def parse(source: str) -> ast.Module:
    """`ast.parse`, one thread at a time; it raises what that raises.

    Before 3.11.8, threads that parse at once share a counter, and now and then one fails with a `SystemError`.
    """
    with _ONE:
        return ast.parse(source)
