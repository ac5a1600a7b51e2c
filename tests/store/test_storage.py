"""The journals keep the contract; journals that break a promise are told which; and what a URL opens."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tests.store import broken

from cellwright.errors import CellwrightError, UsageError
from cellwright.store import BoundedFiles, Facts, MemoryStore, Row, SqliteStore, Store, open_store
from cellwright.testing import check_store
from cellwright.testing.store import PROMISES
from cellwright_guest.wire import NOTHING


def test_the_journal_in_memory_passes() -> None:
    check_store(MemoryStore)


@pytest.mark.parametrize("power_safe", [False, True])
def test_the_journal_in_sqlite_passes(power_safe: bool, tmp_path: Path) -> None:
    opened = partial(SqliteStore, tmp_path / "agents.db", power_safe=power_safe)
    check_store(opened, reopen=opened)


BREAKS: dict[Callable[[], Store], str] = {
    broken.HasNoFence: "a newer claim fences",
    broken.FencesAfterTheWrite: "a newer claim fences",
    broken.WritesOneByOne: "all changes or none",
    broken.OrdersByTheLastWriting: "its place stays",
    broken.MixesUpSessions: "two sessions share no rows",
    broken.LosesSurrogates: "a row comes back",
    broken.TakesTrueForOne: "a row comes back",
    broken.GivesEveryCell: "come by number from `first` on",
    broken.RevivesClaims: "another session has its name",
    broken.LeavesBlobsBehind: "the blobs that no other uses",
    broken.TakesBlobsOfOthers: "the blobs that no other uses",
    broken.ForgetsUnderForks: "refuses while a fork",
    broken.KeepsNoCopies: "changed after it was written",
}
BREAKS_ONE: dict[Callable[[], Store], str] = {
    broken.ReadsEverything: "hold no large value",
    broken.ReadsThePresent: "as they were when that entry was the last",
    broken.ReplacesEntries: "stays as it was written",
    broken.HasNoLeases: "gets SessionBusy",
    broken.KeepsTheDead: "whose process on this machine is dead",
    broken.ListsTheOldestFirst: "the latest first",
    broken.LosesChildren: "all forks and children",
    broken.AsksApart: "takes a question with the changes",
    broken.DecidesTwice: "one decides, and the other is told",
    broken.DecidesWhatIsLate: "a question that has expired",
    broken.GrantsEverywhere: "a decision that says always",
    broken.GivesMessagesAgain: "until a note takes one up",
    broken.SearchesEverywhere: "bounded to kinds, and to sessions",
    broken.FindsTheWorstFirst: "comes before what says it once",
    broken.RemembersTheForgotten: "and says how many",
    broken.FindsPathsAnywhere: "whose path begins so",
    broken.DropsWhatRowsNeed: "what a row or another session needs stays",
}


@pytest.mark.parametrize("make", BREAKS, ids=lambda make: make.__name__)
def test_a_journal_that_breaks_a_promise_is_told_which(make: Callable[[], Store]) -> None:
    with pytest.raises(AssertionError, match=f"the journal breaks a promise: .*{BREAKS[make]}"):
        check_store(make)


@pytest.mark.parametrize("make", BREAKS_ONE, ids=lambda make: make.__name__)
def test_a_promise_that_is_tried_alone_finds_who_breaks_it(make: Callable[[], Store]) -> None:
    (promise,) = (one for one in PROMISES if BREAKS_ONE[make] in (one.__doc__ or ""))
    promise(MemoryStore())
    with pytest.raises((AssertionError, CellwrightError)):
        promise(make())


def test_a_journal_that_is_gone_with_its_process_is_told_so(tmp_path: Path) -> None:
    opened = partial(broken.SavesWhenItIsClosed, tmp_path / "agents.pickle")
    with pytest.raises(AssertionError, match="after the process that wrote it was killed"):
        check_store(opened, reopen=opened)


@pytest.mark.slow
def test_a_journal_that_does_not_see_other_processes_is_told_so(tmp_path: Path) -> None:
    opened = partial(broken.ChecksClaimsInMemory, tmp_path / "agents.db")
    with pytest.raises(AssertionError, match="another process takes"):
        check_store(opened, reopen=opened)


def wrote(journal: Store) -> None:
    journal.write(journal.create(Facts(id="s", created=0.0, seed=b"", pins={}, names=NOTHING)), Row(cell=1, path="1/0"))
    journal.close()


@pytest.mark.parametrize(
    "url",
    ["sqlite:///a.db", "sqlite:///{}/a.db", "a.db", "{}/a.db", "sqlite:///a.db?power_safe=1", "a.db?power_safe=no"],
)
def test_a_url_opens_the_file_it_names(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wrote(open_store(url.format(tmp_path)))
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]
    again = SqliteStore(tmp_path / "a.db")
    assert [row.path for row in again.rows("s")] == ["1/0"]
    again.close()


def test_a_url_says_how_much_of_a_sessions_files_is_kept(tmp_path: Path) -> None:
    for query, room in (("", 1024), ("?snapshots_mb=7", 7), ("?power_safe=1&snapshots_mb=0", 0)):
        with closing(open_store(f"{tmp_path / 'a.db'}{query}")) as store:
            assert isinstance(store, BoundedFiles)
            assert store.snapshots_mb == room


def test_memory_is_a_new_journal_each_time() -> None:
    first, second = open_store("memory:"), open_store("memory:")
    wrote(first)
    assert (list(first.sessions()), list(second.sessions())) == (["s"], [])


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://localhost/agents", r'known are "sqlite:///file\.db"'),
        ("sqlite://a.db", "four slashes"),
        ("sqlite:a.db", "four slashes"),
        ("memory:name", "known are"),
        ("memory:?power_safe=1", "known are"),
        ("sqlite:///", "names no file"),
        ("", "names no file"),
        (":memory:", "names no file"),
        ("a/", "names no file"),
        ("a.db?power_safe=maybe", "power_safe=1"),
        ("a.db?safe=1", "power_safe=1"),
        ("a.db?snapshots_mb=-1", "snapshots_mb=4096"),
        ("a.db?snapshots_mb=", "snapshots_mb=4096"),
    ],
)
def test_a_url_that_names_no_journal_is_refused(
    url: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=said):
        open_store(url)
    assert list(tmp_path.iterdir()) == []
