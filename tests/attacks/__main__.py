"""`python -m tests.attacks`: how many attacks there are against which layer."""

from __future__ import annotations

from tests.attacks.report import table

if __name__ == "__main__":
    print(table())
