"""The guest's randomness: all of it from the session's seed."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.guest import scripted

DRAWS = """
import os, random, secrets, tempfile, uuid
def draw():
    return [
        os.urandom(8).hex(), os.getrandom(8).hex(), random.random(), random.Random().random(),
        random.SystemRandom().random(),
        secrets.token_hex(8), secrets.randbelow(10**9), str(uuid.uuid4()), str(uuid.uuid1()), uuid.getnode(),
        tempfile.mktemp(), random.shuffle(deck := list(range(9))) or deck, random.randbytes(4).hex(),
    ]
"""


def values(*cells: str, site: str = "") -> list[Any]:
    played = scripted.same(*map(dedent, cells), site=site)
    assert [one[2:] for one in played.said if one[0] == "d" and one[2] != "value"] == []
    return played.values


def test_every_source_gives_the_same_again_and_never_twice_the_same() -> None:
    _, first, second = values(DRAWS, "draw()", "draw()")
    same = [one for one, other in zip(first, second, strict=True) if one == other]
    assert same == [first[9]]  # the node


def test_another_seed_gives_other_draws() -> None:
    one = scripted.play(DRAWS, "draw()")
    other = scripted.play(DRAWS, "draw()", seed="08" * 32)
    assert not any(a == b for a, b in zip(one.values[1], other.values[1], strict=True))


def test_a_seed_of_the_codes_own_means_what_it_always_means() -> None:
    cell = "import random\nrandom.seed(7)\n[random.random(), random.Random(7).random()]"
    assert values(cell) == scripted.play(cell, journaled=False).values


def test_seeding_without_a_seed_takes_one_from_the_stream() -> None:
    cell = """
    import random
    class Mine(random.Random):
        def seed(self, a=None, version=2):
            self.seeded = a
            super().seed(a, version)
    def three():
        random.seed()
        return [random.random(), Mine().random(), random.Random(None).random()]
    [three(), three()]
    """
    ((first, second),) = values(cell)
    assert not set(first) & set(second)


def test_wrong_sizes_raise_what_pythons_own_raise() -> None:
    cell = """
    import os
    said = []
    for size in (-1, "x", 1.5):
        try:
            os.urandom(size)
        except (ValueError, TypeError) as error:
            said.append([type(error).__name__, str(error)])
    said + [len(os.urandom(0)), len(os.urandom(100)), len(os.getrandom(3, os.GRND_NONBLOCK))]
    """
    assert values(cell) == scripted.play(dedent(cell), journaled=False).values


@pytest.mark.slow
def test_numpys_generators_are_of_the_seed_too(venv: Path) -> None:
    site = next(str(path) for path in venv.glob("lib/python*/site-packages"))
    cell = """
    import numpy as np, pandas as pd
    from cellwright_guest import randomness
    def draw():
        return [
            float(np.random.rand()), float(np.random.default_rng().random()), float(np.random.RandomState().rand()),
            pd.Series(range(100)).sample(3).tolist(), int(np.random.SeedSequence().entropy % 10**9),
        ]
    first = draw()
    kept = randomness.state()
    [first, draw(), randomness.restore(kept), draw()]
    """
    ((first, second, _, third),) = values(cell, site=site)
    assert second == third
    assert not any(a == b for a, b in zip(first, second, strict=True))


def test_a_checkpoint_takes_the_stream_up_where_it_was() -> None:
    later = """
    from cellwright_guest import randomness, clock
    import pickle
    draw()
    kept = pickle.dumps([randomness.state(), clock.state()])
    first = draw()
    tempfile._name_sequence = None
    draw()
    randomness.restore(pickle.loads(kept)[0])
    clock.restore(pickle.loads(kept)[1])
    [first, draw()]
    """
    _, (first, again) = values(DRAWS, later)
    assert first == again


def test_without_a_journal_no_two_guests_draw_the_same() -> None:
    one, other = (scripted.play(DRAWS, "draw()", journaled=False).values[1] for _ in range(2))
    assert [a for a, b in zip(one, other, strict=True) if a == b] in ([], [one[9]])
