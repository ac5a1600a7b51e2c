"""`CellCheck`: asks the type checker about a cell before it runs, where somebody wants that."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from cellwright.catalog import TypeChecker, type_mistake
from cellwright.errors import NotChecked, TypeMistake
from cellwright.runtime.open_session import GUEST_NAMES
from cellwright.scope import Scope

CheckMode = Literal["off", "warn", "strict"]


class CellCheck:
    """For one open session. `site` is where the guest's packages are, if that is known."""

    def __init__(self, scope: Scope, site: tuple[Path, ...] | None) -> None:
        self._scope = scope
        self._site = site
        self._checker: TypeChecker | None = None

    async def mistakes(
        self, code: str, mode: CheckMode, before: Sequence[str]
    ) -> tuple[TypeMistake | None, tuple[str, ...]]:
        """Why the cell is not run, if it is not; and what to say of it where it is."""
        try:
            mistakes = await self._type_checker().check(code, before=before)
        except NotChecked as error:
            return None, (f"not checked: {error}",)
        refused = type_mistake(mistakes) if mistakes and mode == "strict" else None
        return refused, tuple(map(str, mistakes))

    async def warm(self) -> None:
        """Begin what the first check needs."""
        if find_spec("ty") is not None:
            await self._type_checker().warm()

    def _type_checker(self) -> TypeChecker:
        if self._checker is None:
            self._checker = TypeChecker(self._scope, names=GUEST_NAMES, site=self._site)
        return self._checker

    async def close(self) -> None:
        checker, self._checker = self._checker, None
        if checker is not None:
            await checker.close()
