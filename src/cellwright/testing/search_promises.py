"""Promises about search. Words are made up anew each time: the store may hold other sessions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from cellwright.store import CellRow, Claim, EntryHit, Note, Reach, Store, TurnRow
from cellwright.testing.samples import LONE, expect, facts
from cellwright_guest.wire import Packed


def _words(count: int) -> list[str]:
    letters = "bcdfghjklmnprstvwxz"
    return ["".join(random.choices(letters, k=12)) for _ in range(count)]


def _entries(found: Sequence[EntryHit]) -> list[int]:
    return sorted(hit.entry for hit in found)


def everything_that_is_text_is_found(journal: Store) -> None:
    """prompts, replies, code, outputs, errors and file names are found, each as what it is, in its entry."""
    task, answer, code, output, told, error, file, message = words = _words(8)
    claim = journal.create(facts())
    journal.write(
        claim,
        TurnRow(number=1, task=f"the {task}"),
        Note(kind="message", text=f"and {message}"),
        CellRow(number=4, code=f"x = {code}()", status="running"),
        CellRow(number=5, code="y", status="done", stdout=f"{output}\n", value=Packed([{"d": [["k", told]]}], [])),
        CellRow(number=6, code="z", status="failed", error={"text": f"KeyError: {error}"}, files=(f"a/{file}.csv",)),
        TurnRow(number=1, task=f"the {task}", status="done", answer=f"it is {answer}", cell=6),
    )
    kinds = ("prompt", "reply", "code", "output", "output", "error", "file", "prompt")
    entries, cells = (1, 6, 3, 4, 4, 5, 5, 2), (None, 6, 4, 5, 5, 6, 6, None)
    for word, kind, entry, cell in zip(words, kinds, entries, cells, strict=True):
        (hit,) = journal.search(word)
        expect((hit.session, hit.kind, hit.entry), (claim.session, kind, entry))
        expect(f"\x02{word}\x03" in hit.snippet, True)
        expect(cell in (None, hit.cell), True)
        expect(hit.at, journal.entries(claim.session, entry, entry)[0].at)


def words_are_found_as_people_write_them(journal: Store) -> None:
    """upper case, accents, dots and underscores make no difference; part of a name is found, and words in order."""
    one, two, three = _words(3)
    claim = journal.create(facts())
    code = f"crm.{one}_{two}({three}É)\nclass {one.title()}{three.title()}Report: ..."
    journal.write(claim, CellRow(number=1, code=code), CellRow(number=2, code=f"{two} of {one}"))
    expect(_entries(journal.search(one.upper())), [1, 2])
    expect(_entries(journal.search(f"{one}_{two}")), [1])
    expect(_entries(journal.search(f"crm.{one}_{two}")), [1])
    expect(_entries(journal.search(f"{three}e")), [1])
    expect(_entries(journal.search(f"{three[:8]}*")), [1])
    expect(_entries(journal.search(f"{one.title()}{three.title()}Report".lower())), [1])
    expect(_entries(journal.search(three)), [1])  # the second part of a name that is written as one
    expect(_entries(journal.search(f'"{one} {two}"')), [1])
    expect(_entries(journal.search(f'"{two} of {one}"')), [2])
    expect(_entries(journal.search(f'"{one} {three}"', kinds=["output"])), list[int]())


def all_words_or_else_any(journal: Store) -> None:
    """all words must be there; where there is nothing, any will do. What has no words finds nothing."""
    one, two, three, nowhere = _words(4)
    claim = journal.create(facts())
    texts = (f"{one} x", f"{one} {two}", f"{two} {three}")
    journal.write(claim, *(CellRow(number=n, code=text) for n, text in enumerate(texts, 1)))
    expect(_entries(journal.search(f"{two} {one}")), [2])
    expect(_entries(journal.search(f"{one} {nowhere}")), [1, 2])
    expect(_entries(journal.search(f"{one} {three}")), [1, 2, 3])
    for nothing in ("", " ", "*", '"', '""', "-", "( ) :", "\x00", nowhere, f"{nowhere}*", f'"{one} {three}"'):
        expect(list(journal.search(nothing)), list[EntryHit]())
    for odd in (f"{two} AND", f"NOT {two}", f"{two}:{three}", f"{two}'", f"{two} \\", f"^{two}"):
        expect((odd, 3 in _entries(journal.search(odd))), (odd, True))
    for odd in (f"NEAR({two}", f"{two}{LONE}", f"{{{two}}}: *", "a" * 100_000, "word " * 10_000):
        journal.search(odd)


def the_best_come_first(journal: Store) -> None:
    """what says a word often and little else comes before what says it once among much; scores fall."""
    word, other = _words(2)
    claim = journal.create(facts())
    much = " ".join(_words(200))
    texts = (f"{much} {word}", f"{word} {word} {word}", f"{much} {word} {other} {much}")
    journal.write(claim, *(CellRow(number=n, code=text) for n, text in enumerate(texts, 1)))
    found = journal.search(word)
    expect((len(found), found[0].entry), (3, 2))
    scores = [hit.score for hit in found]
    expect(scores, sorted(scores, reverse=True))
    expect(len(journal.search(word, limit=2)), 2)
    expect(journal.search(word, limit=1)[0].entry, 2)
    expect(list(journal.search(word, limit=0)), list[EntryHit]())
    snippet = next(hit.snippet for hit in found if hit.entry == 3)
    expect((f"\x02{word}\x03" in snippet, len(snippet) < 1000), (True, True))


def a_search_can_be_bounded(journal: Store) -> None:
    """a search is bounded to kinds, and to sessions, whole or up to an entry."""
    (word,) = _words(1)
    claims = [journal.create(facts()) for _ in range(3)]
    for claim in claims:
        journal.write(claim, *(CellRow(number=n, code=word, stdout=word) for n in (1, 2)))
    one, two, _ = (claim.session for claim in claims)

    def places(*within: Reach, kinds: Sequence[str] = ("code",)) -> list[tuple[str, int]]:
        return sorted((hit.session, hit.entry) for hit in journal.search(word, within=within, kinds=kinds))

    expect(len(journal.search(word)), 12)
    expect(len(journal.search(word, kinds=("code", "error"))), 6)
    expect(places(), list[tuple[str, int]]())
    expect(places(Reach(session=one)), [(one, 1), (one, 2)])
    expect(places(Reach(session=one, upto=1), Reach(session=two)), sorted([(one, 1), (two, 1), (two, 2)]))
    expect(places(Reach(session=one, upto=0), Reach(session="no such session")), list[tuple[str, int]]())
    expect(places(Reach(session=one, upto=1), Reach(session=one)), [(one, 1), (one, 2)])


def the_last_text_counts(journal: Store) -> None:
    """a later entry replaces what an earlier one of the same cell or turn said; what is the same stays where it was."""
    code, old, new = _words(3)
    claim = journal.create(facts())
    cell = CellRow(number=1, code=code, stdout=old)
    journal.write(claim, cell)
    expect((_entries(journal.search(code)), _entries(journal.search(old))), ([1], [1]))
    journal.write(claim, replace(cell, status="done", stdout=new))
    expect(_entries(journal.search(code)), [1])
    expect((_entries(journal.search(old)), _entries(journal.search(new))), (list[int](), [2]))
    journal.write(claim, replace(cell, status="done", stdout=new, undone=True))
    expect(_entries(journal.search(new)), [2])


def catching_up_takes_what_is_new(journal: Store) -> None:
    """`catch_up` takes in what was written since, and says how much that was."""
    (word,) = _words(1)
    journal.catch_up()
    expect(journal.catch_up(), 0)
    claim: Claim = journal.create(facts())
    journal.write(claim, *(CellRow(number=n, code=word) for n in range(1, 31)))
    expect((journal.catch_up(), journal.catch_up()), (30, 0))
    expect(len(journal.search(word, limit=100)), 30)


def long_texts_are_taken_in(journal: Store) -> None:
    """a text of many letters without a blank is taken in as quickly as any, and what is beside it found."""
    word, other = _words(2)
    claim = journal.create(facts())
    journal.write(claim, CellRow(number=1, code=word, stdout="x" * 60_000), CellRow(number=2, code=f"{word}{other}Y"))
    expect(_entries(journal.search(word)), [1])
    expect(journal.catch_up(), 0)
