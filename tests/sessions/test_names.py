"""Which session is meant: its id, the beginning of one, or its branch's name."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.sessions.made import facts

from cellwright.errors import NoSession, UsageError
from cellwright.sessions import Sessions
from cellwright.store import MemoryStore


@pytest.fixture
def sessions() -> Sessions:
    store = MemoryStore()
    for id in ("abcdef01", "abcdef02", "beta-one", "gamma"):
        store.release(store.create(facts(id)))
    made = Sessions(store)
    made.rename("beta-one", "try-2")
    return made


@pytest.mark.parametrize(
    ("text", "id"), [("gamma", "gamma"), ("abcdef01", "abcdef01"), ("beta", "beta-one"), ("try-2", "beta-one")]
)
def test_an_id_the_beginning_of_one_and_a_name_are_found(sessions: Sessions, text: str, id: str) -> None:
    assert sessions.resolve(text) == id


def test_what_may_be_several_is_told_with_all_of_them(sessions: Sessions) -> None:
    with pytest.raises(UsageError, match=r"may be any of these.*abcdef0") as told:
        sessions.resolve("abcd")
    assert "abcdef01" in str(told.value)
    assert "abcdef02" in str(told.value)


@pytest.mark.parametrize("text", ["abc", "nobody", "", "\x1b[2J", "gamma "])
def test_what_is_none_is_told(sessions: Sessions, text: str) -> None:
    with pytest.raises(NoSession, match="there is no session") as told:
        sessions.resolve(text)
    assert "\x1b" not in str(told.value)


def test_a_name_is_the_last_that_was_given_and_of_one_session_alone(sessions: Sessions) -> None:
    sessions.rename("gamma", "draft")
    sessions.rename("gamma", "draft")
    sessions.rename("gamma", "final")
    assert sessions.resolve("final") == "gamma"
    with pytest.raises(NoSession):
        sessions.resolve("draft")
    for taken in ("try-2", "abcdef01"):
        with pytest.raises(UsageError, match="already"):
            sessions.rename("gamma", taken)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "\x1b[31m", "x" * 65])
def test_a_name_that_is_none_is_refused(sessions: Sessions, name: str) -> None:
    with pytest.raises(UsageError, match="one line of 1 to 64"):
        sessions.rename("gamma", name)


def test_a_fork_with_a_name_that_is_taken_is_not_made(sessions: Sessions) -> None:
    before = list(sessions.list())
    forks: list[Callable[[], str]] = [
        lambda: sessions.fork("gamma", name="try-2"),
        lambda: sessions.fork("gamma", id="not an id"),
    ]
    for fork in forks:
        with pytest.raises(UsageError):
            fork()
    assert list(sessions.list()) == before
