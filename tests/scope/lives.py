"""A session that is driven by raw calls, and goes on in another host as if its first process had died.

The journal here is a list in memory: what a real one keeps, by the same contract.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from cellwright import Scope
from cellwright.doors import Answer, Beginning, Call, Made, ObjectOrigin
from cellwright.scope import ScopeHost
from cellwright_guest.packer import Packer, plain
from cellwright_guest.wire import Packed

PATIENCE_S = 20.0


class Handle:
    """In an argument: a host object, by its number."""

    def __init__(self, number: int) -> None:
        self.number = number


class Guest:
    """Answers each call of the host with one and the same tree, and keeps what it was told."""

    def __init__(self, tree: Any = None) -> None:
        self.tree = tree
        self.parents: list[int] = []
        self.made: list[Made] = []

    def invoke(
        self,
        lent: int,
        parent: int,
        arguments: Packed,
        path: str = "",
        at: float = 0.0,
        made: tuple[Made, ...] = (),
    ) -> Future[Answer]:
        self.parents.append(parent)
        self.made += made
        future: Future[Answer] = Future()
        future.set_result(Answer(value=Packed(self.tree, [])))
        return future

    def give_back(self, lent: int, count: int) -> None: ...


class Refused(Exception):
    """The host answered with an exception: its class, and its text."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


@dataclass
class Kept:
    """One call that was answered."""

    call: Call
    answer: Answer
    title: str
    reads: bool


class Past:
    """A `Lineage` over what was kept."""

    def __init__(self, began: Sequence[Made], rows: Sequence[Kept]) -> None:
        self._began = list(began)
        self._rows = list(rows)

    def known(self) -> Sequence[Made]:
        return [*self._began, *(made for row in self._rows for made in row.answer.made)]

    def imported(self, number: int) -> bool:
        return False

    async def refusal(self, made: Made, origin: ObjectOrigin) -> str:
        return ""

    def origin(self, handle: int) -> ObjectOrigin | None:
        for at, row in enumerate(self._rows):
            if any(made.number == handle for made in row.answer.made):
                others = [m.number for m in row.answer.made if m.number > 0]
                later = self._rows[at + 1 :]
                return ObjectOrigin(
                    call=row.call,
                    title=row.title,
                    alone=others == [handle],
                    touched=any(one.call.target == handle and not one.reads for one in later),
                    kept=row.answer.kept,
                )
        return None


class Life:
    """One process of a session."""

    def __init__(
        self,
        scope: Scope | Mapping[str, Any],
        past: Life | None = None,
        guest: Guest | None = None,
        session: str = "s1",
    ) -> None:
        self.scope = Scope.of(scope)
        self.host = ScopeHost(self.scope, session=session)
        self.guest = guest or Guest()
        self.rows: list[Kept] = [] if past is None else [*past.rows]
        self.began: Sequence[Made] = () if past is None else past.began
        self._numbers = itertools.count(1 if past is None else 1000)
        self._errors: dict[int, str] = {}
        self.beginning = self.open(past)
        if past is None:
            self.began = self.beginning.made

    def open(self, past: Life | None) -> Beginning:
        lineage = None if past is None else Past(past.began, past.rows)
        return self.host.open(self.guest, frozenset(), lineage)

    def name(self, name: str) -> int:
        """The number behind a name in scope."""
        tree = self.beginning.names.tree["m"][name]
        return next(tree[tag][0] for tag in ("h", "f", "c") if tag in tree)

    def call(self, verb: str, target: int, name: str = "", *args: Any, **kwargs: Any) -> Call:
        number = next(self._numbers)
        packed = Packer(_packed).packed((args, kwargs))
        return Call(
            id=number, cell=1, verb=verb, target=target, name=name, arguments=packed, path=f"1/{number}", line=number
        )

    async def answer(self, call: Call) -> Answer:
        async with asyncio.timeout(PATIENCE_S):
            about = self.host.about(call.verb, call.target, call.name)
            answer = await self.host.call(call)
        self.rows.append(Kept(call, answer, about.title, about.operation.reads))
        return answer

    async def ask(self, verb: str, target: int, name: str = "", *args: Any, **kwargs: Any) -> Any:
        """The tree of the answer."""
        answer = await self.answer(self.call(verb, target, name, *args, **kwargs))
        if answer.failed:
            about, _, _, text = answer.value.tree["E"]
            if not isinstance(about, str) and about[1]:
                self._errors[about[0]] = about[1]["name"]
            raise Refused(about if isinstance(about, str) else self._errors[about[0]], text)
        return answer.value.tree

    async def handle(self, verb: str, target: int, name: str = "", *args: Any, **kwargs: Any) -> int:
        """The number of the object that the call gives."""
        tree = await self.ask(verb, target, name, *args, **kwargs)
        return tree["h"][0] if "h" in tree else tree["f"][0]

    def resumed(self, scope: Scope | Mapping[str, Any], guest: Guest | None = None) -> Life:
        """The session in another process, whose scope is made anew."""
        self.host.close()
        return Life(scope, self, guest)


def _packed(value: Any, packer: Packer) -> Any:
    return {"h": value.number} if isinstance(value, Handle) else plain(value, packer)
