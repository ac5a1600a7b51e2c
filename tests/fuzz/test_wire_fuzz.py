"""The host against frames of every sort: the sender's session ends with one clear error, and nothing else happens.

`make test` runs a slice; `make fuzz` runs over a million frames and says how fast.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz import frames
from tests.fuzz.sessions import Bystander, JournaledSession, Session

from cellwright.sandboxes.workspace import Workspace
from cellwright_guest import packer, unpacker
from cellwright_guest.framing import FrameReader, frame, parse
from cellwright_guest.packer import Packer
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import Bounds, WireError

BOUNDS = Bounds()
FRAME_S = 0.005  # processor time for a small frame, on average over the long run
SLICE, SHARDS = 1_500, 4
READ, SERVED = 175_000, 90_000  # frames of one shard: only read, and read by a host that acts on them
JOURNALED = 30_000  # and by one that writes them down

Progress = Callable[[str], None]


def read(data: bytes, piece: int) -> None:
    """All that the wire does with bytes; raises `WireError` and nothing else."""
    reader = FrameReader(BOUNDS)
    for at in range(0, len(data), piece):
        for header, blob_bytes in reader.feed(data[at : at + piece]):
            message, blobs = parse(header, blob_bytes, BOUNDS)
            for tree in message:
                value = Unpacker(blobs, unpacker.refuse, BOUNDS).unpack(tree)
                try:
                    Packer(packer.plain).packed(value)
                except (TypeError, RecursionError):
                    continue  # what came in may be nested deeper than what goes out


def read_or_refused(data: bytes, piece: int) -> bool:
    try:
        read(data, piece)
    except WireError:
        return False
    return True


def read_many(rng: random.Random, count: int, say: Progress) -> int:
    """How many of `count` frames were read."""
    fine = 0
    for i in range(count):
        data = frames.frame_of(rng)
        fine += read_or_refused(data, rng.choice((1, 7, 64, len(data))) if len(data) < 500 else len(data))
        if i % (count // 5) == 0:
            say(f"read {i:,} of {count:,}")
    return fine


async def serve_many(
    rng: random.Random, count: int, workspace: Workspace, say: Progress, *, journaled: bool = False
) -> Session:
    """Frames to a host that acts on them, beside another session that must be answered."""
    failures: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    session, bystander = (JournaledSession if journaled else Session)(workspace), Bystander()
    for i in range(count):
        data = frames.frame_of(rng, journaled=journaled)
        await session.feed(data, len(data) if rng.random() < 0.9 else rng.randrange(1, 50))
        if i % 20 == 0:
            await session.settle()
        if i % 200 == 0:
            await bystander.asks()
        if i % (count // 5) == 0:
            say(f"served {i:,} of {count:,}, {session.ended:,} sessions ended")
        assert not failures, failures
    await session.close()
    bystander.close()
    await asyncio.sleep(0)
    assert not failures, failures
    return session


def quiet(line: str) -> None:
    return None


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.at(tmp_path, None)


def test_mutated_frames_are_read_or_refused() -> None:
    fine = read_many(random.Random(1), 3 * SLICE, quiet)
    assert SLICE // 10 < fine < 3 * SLICE  # both happen, or this tests nothing


async def test_a_host_that_is_sent_mutated_frames_goes_on(workspace: Workspace) -> None:
    session = await serve_many(random.Random(2), SLICE, workspace, quiet)
    assert session.heard > SLICE // 2
    assert session.ended > SLICE // 50


@pytest.mark.slow
async def test_a_journal_of_a_guest_that_sends_mutated_frames_is_read_and_repeated(workspace: Workspace) -> None:
    session = await serve_many(random.Random(3), SLICE // 2, workspace, quiet, journaled=True)
    assert isinstance(session, JournaledSession)
    assert session.heard > SLICE // 4
    assert session.repeated > 0


@given(st.binary(max_size=400), st.integers(1, 50))
@settings(max_examples=600, deadline=None)
def test_bytes_are_read_or_refused(data: bytes, piece: int) -> None:
    read_or_refused(data, piece)


@given(st.binary(max_size=400))
@settings(max_examples=400, deadline=None)
def test_headers_are_read_or_refused(header: bytes) -> None:
    read_or_refused(len(header).to_bytes(4, "little") + b"\0\0\0\0" + header, 1 << 20)


def trees() -> st.SearchStrategy[Any]:
    atoms = (
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(frames.ATOMS)
    )
    tags = st.sampled_from(frames.TAGS)

    def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        parts = st.lists(inner, max_size=5)
        extra = st.tuples(st.sampled_from(frames.EXTRAS), parts).map(lambda x: {"x": [x[0], *x[1]]})
        return parts | st.dictionaries(tags, inner | parts, max_size=2) | extra

    return st.recursive(atoms, larger, max_leaves=30)


def unpacked_or_refused(tree: Any, blobs: list[bytes]) -> None:
    try:
        Unpacker(list(blobs), unpacker.refuse, BOUNDS).unpack(tree)
    except WireError:
        return


CASES = given(trees(), st.lists(st.binary(max_size=20), max_size=3))


@CASES
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_trees_are_unpacked_or_refused(tree: Any, blobs: list[bytes]) -> None:
    unpacked_or_refused(tree, blobs)


DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.dates()
    | st.uuids(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers(), st.text()), inner)
        | st.sets(st.integers() | st.text())
        | st.frozensets(st.integers())
    ),
    max_leaves=20,
)


@given(DATA)
@settings(max_examples=300, deadline=None)
def test_data_comes_back_as_it_was(value: Any) -> None:
    packed = Packer(packer.plain).packed(value)
    buffers = b"".join(frame(["v", packed.tree], packed.blobs))
    ((header, blob_bytes),) = FrameReader(BOUNDS).feed(buffers)
    message, blobs = parse(header, blob_bytes, BOUNDS)
    assert Unpacker(blobs, unpacker.refuse, BOUNDS).unpack(message[1]) == value


@pytest.mark.fuzz
@pytest.mark.parametrize("shard", range(SHARDS))
async def test_a_million_frames(shard: int, workspace: Workspace, capfd: pytest.CaptureFixture[str]) -> None:
    seed = random.SystemRandom().randrange(2**32)

    def say(line: str) -> None:
        with capfd.disabled():
            print(f"fuzz {shard + 1}/{SHARDS} seed {seed}: {line}", file=sys.stderr, flush=True)

    rng = random.Random(seed)
    began, processor_began = time.monotonic(), time.process_time()
    fine = read_many(rng, READ, say)
    session = await serve_many(rng, SERVED, workspace, say)
    await serve_many(rng, JOURNALED, workspace, say, journaled=True)
    took, count = time.monotonic() - began, READ + SERVED + JOURNALED
    say(
        f"{count:,} frames in {took:.0f} s, {count / took:,.0f} frames/s; {fine:,} of {READ:,} read, "
        f"{session.heard:,} of {SERVED:,} acted on, {session.ended:,} sessions ended, the host served on"
    )
    assert (time.process_time() - processor_began) / count < FRAME_S


@pytest.mark.fuzz
@CASES
@settings(max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_many_trees_are_unpacked_or_refused(tree: Any, blobs: list[bytes]) -> None:
    unpacked_or_refused(tree, blobs)
