"""What reached a session outlives its guest: a guest that died is followed by another, in the same process."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agent.test_session_flow import Nobody, Post

from cellwright import Agent, Scope, operation
from cellwright.store import MemoryStore
from cellwright.testing import ScriptedModel, code

pytestmark = pytest.mark.usefixtures("warm")
READS, DIES = "print(post.body())", "import os\nos._exit(3)"


class Box(Post):
    def __init__(self) -> None:
        super().__init__()
        self.renamed: list[str] = []

    @operation(reads=True)
    def files(self) -> list[File]:
        """Some files."""
        return [File(self, f"file {number}") for number in range(9)]

    @operation(reads=True, untrusted=True)
    def found(self, name: str) -> File:
        """A file that an outsider put there."""
        return File(self, name)


class File:
    def __init__(self, box: Box, name: str) -> None:
        self._box = box
        self.name = name

    def rename(self, name: str) -> None:
        """Rename it."""
        self._box.renamed.append(self.name)


def kept(is_kept: bool) -> dict[str, Any]:
    return {"store": MemoryStore()} if is_kept else {}


@pytest.mark.parametrize("is_kept", [False, True])
async def test_influence_and_words_are_there_after_the_death_of_a_guest(is_kept: bool) -> None:
    post, nobody = Post(), Nobody()
    send = code("post.send('ann@corp.example', 'x')\npost.send('bob@corp.example', 'x')")
    model = ScriptedModel(code(READS), code(DIES), send, "over")
    await Agent(model, scope={"post": post}, approve=nobody, check="off", **kept(is_kept)).run("Tell ann@corp.example.")
    assert post.sent == ["ann@corp.example"]
    assert [one.arguments for one in nobody.asked] == ["('bob@corp.example', 'x')"]


@pytest.mark.parametrize("is_kept", [False, True])
async def test_an_outsiders_object_is_not_taken_for_one_that_an_earlier_guest_had_under_its_number(
    is_kept: bool,
) -> None:
    post, nobody = Box(), Nobody()
    scope = Scope({"post": post})
    scope.declare("File.rename", shown=vars)
    model = ScriptedModel(
        code("files = post.files()"), code(READS), code(DIES), code("post.found('evil').rename('plan')"), "over"
    )
    await Agent(model, scope=scope, approve=nobody, check="off", **kept(is_kept)).run("Rename it to plan.")
    assert (post.renamed, len(nobody.asked)) == ([], 1)
