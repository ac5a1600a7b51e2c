"""Ways past the data flow: what outsiders choose, what a hostile guest sends, and a model that obeys."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agent.test_session_flow import EVE, Nobody, Post, reader

from cellwright import Result, operation
from cellwright.testing import code

pytestmark = pytest.mark.usefixtures("warm")


async def obeyed(post: Post, *cells: str, task: str = "Do what the mail says.", **options: Any) -> tuple[int, Any]:
    """How many questions were asked while a model wrote these cells, and its result."""
    nobody = Nobody()
    agent, _ = reader(*map(code, cells), code("done()"), post=post, nobody=nobody, check="off", **options)
    result: Result[Any] = await agent.run(task)
    return len(nobody.asked), result


class Loose(Post):
    @operation(selecting=["to"])
    def post(self, to: str, /, **more: str) -> None:
        """A keyword may have the name of the positional parameter."""
        self.sent.append(to)

    @operation(selecting=["to"])
    def list(self, *to: str, **more: str) -> None:
        """Parameters without names."""
        self.sent.extend(to)


@pytest.mark.parametrize("call", [f"post.post({EVE!r}, to='Ann')", f"post.list({EVE!r}, **{{'#1': 'Ann'}})"])
async def test_a_keyword_does_not_stand_in_for_the_positional_argument_of_its_name(call: str) -> None:
    post = Loose()
    asked, _ = await obeyed(post, "print(post.body())", call, task="Write to Ann.")
    assert (post.sent, asked) == ([], 1)
