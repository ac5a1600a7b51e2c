"""Every attack of `cells/` on every rung: none escapes, and the host answers another session meanwhile."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal, cast

import pytest
from _pytest.mark import ParameterSet
from tests.attacks import witnesses
from tests.attacks.harness import Arena, Attack, Evidence, attacks, escapes, read_attack, unexpected
from tests.attacks.lures import Canaries, Vault, opened
from tests.sandboxes.jails import landlock_sandbox

from cellwright import GuestValue, Outcome
from cellwright.errors import CodeError, MemoryLimit

RUNGS = ("process",)
LEAST = 80
# These send or hold until a limit ends them, seconds each: `make slow` runs them.
LONG = set(
    "journal_undoes_without_end wire_a_million_lists journal_transactions_by_the_hundred journal_luggage_of_sleeps "
    "wire_arguments_that_pile_up wire_keys_that_probe_alike wire_lends_without_end wire_dribbles_one_byte_at_a_time "
    "disk_deep_tree objects_large_values_many_times burn_after_the_cell burn_every_core "
    "swap_old_for_host_directory fork_bomb partial_frames stay_after_the_cell kill_own_threads "
    "objects_callbacks_kept_by_the_host programs_find_no_host wire_drops_by_the_million".split()
)


def needs_programs(path: Path) -> bool:
    return read_attack(path).limits.get("processes", 0) > 0


def case_of(path: Path) -> ParameterSet:
    marks = [pytest.mark.slow] if path.stem in LONG else []
    if path.stem == "machine_name":
        marks.append(pytest.mark.needs_layers("uts"))
    return pytest.param(path, id=path.stem, marks=marks)


@pytest.fixture(scope="module", params=RUNGS)
async def arena(request: pytest.FixtureRequest) -> AsyncIterator[Arena]:
    async with Arena(cast(Literal["process"], request.param)) as made:
        yield made


@pytest.mark.parametrize("path", [case_of(path) for path in attacks()])
async def test_an_attack_is_held(path: Path, arena: Arena) -> None:
    await hold(read_attack(path), arena)


# What the landlock rung cannot hold, or does not have; each of these must really fail there.
NOT_HELD_BY_LANDLOCK = {
    "stat_host_files": "Landlock guards what is in a file, not that it is there, how large it is and when it changed",
    "machine_name": "the machine's own name can be read",
    "scratch_reach_the_live_workspace": "rules cannot be added later, so the live workspace is open from the beginning",
    "memory_tmpfs": "there is no /tmp of its own",
} | ({"no_capabilities": "an ordinary user cannot empty the bounding set"} if os.getuid() else {})
QUICK_ON_LANDLOCK = set(
    "act_on_other_processes change_host_files clocks_of_other_processes meet_a_sibling network_unix "
    "read_absolute_paths signals_to_others stat_host_files trace_processes wire_descriptors_beside_a_frame".split()
)


def case_on_landlock(path: Path) -> ParameterSet:
    """What is aimed at the host's own code, which does not know the rung, is for `make fuzz`."""
    mark = pytest.mark.fuzz if path.stem.startswith(("objects_", "wire_", "journal_")) else pytest.mark.slow
    return pytest.param(path, id=path.stem, marks=() if path.stem in QUICK_ON_LANDLOCK else mark)


@pytest.fixture(scope="module")
async def landlock_arena() -> AsyncIterator[Arena]:
    async with landlock_sandbox() as sandbox, Arena(sandbox) as made:
        yield made


@pytest.mark.parametrize("path", [case_on_landlock(path) for path in attacks() if not needs_programs(path)])
async def test_an_attack_is_held_without_namespaces(path: Path, landlock_arena: Arena) -> None:
    reason = NOT_HELD_BY_LANDLOCK.get(path.stem)
    if reason is None:
        await hold(read_attack(path), landlock_arena)
    else:
        with pytest.raises(AssertionError):
            await hold(read_attack(path), landlock_arena)


@pytest.mark.fuzz
@pytest.mark.parametrize("path", attacks(), ids=lambda path: path.stem)
async def test_an_attack_by_a_journaled_session_is_held(path: Path, arena: Arena) -> None:
    attack = read_attack(path)
    if not attack.scratch:
        # time stands still in a loop that reads it, and so some end at another limit
        await hold(dataclasses.replace(attack, journal=True, expect=frozenset(("any",))), arena)


async def hold(attack: Attack, arena: Arena) -> None:
    evidence = await arena.run(attack)
    found = escapes(evidence, arena.canaries.texts())
    assert not found, f"{attack.escape}\n" + "\n".join(found) + f"\n{evidence.outcome}"[:3000]
    assert (wrong := unexpected(attack, evidence.outcome)) is None, wrong


def test_there_are_enough_attacks() -> None:
    assert len(attacks()) >= LEAST
    assert {path.stem for path in attacks()} >= LONG | QUICK_ON_LANDLOCK | NOT_HELD_BY_LANDLOCK.keys()


@pytest.mark.parametrize("path", attacks(), ids=lambda path: path.stem)
def test_an_attack_says_what_it_is(path: Path) -> None:
    attack = read_attack(path)
    assert attack.title[-1] in ".?!"
    assert len(attack.escape) > 10
    assert len(attack.control_text) > 10
    compile(attack.control, path.name, "exec", flags=0x2000)  # with top-level await
    compile(attack.attack, path.name, "exec", flags=0x2000)


# --- the judge can fail ---

CANARIES = Canaries()
SOUND = Outcome(
    cell=2, value=["nothing", b"\0"], stdout="refused\n", error=CodeError("x", type="OSError", message="no")
)


def planted(**change: Any) -> Evidence:
    of_outcome = {name: value for name, value in change.items() if name in ("value", "stdout", "error")}
    rest = {name: value for name, value in change.items() if name not in of_outcome}
    return Evidence(outcome=dataclasses.replace(SOUND, **of_outcome), **rest)


def test_what_holds_is_no_escape() -> None:
    assert escapes(planted(), CANARIES.texts()) == []


SECRET = CANARIES.closed_file
PLANTED: dict[str, dict[str, Any]] = {
    "in the value": {"value": f"root:{SECRET}:0"},
    "deep in the value": {"value": [{"a": (1, SECRET.encode())}]},
    "in a value that stayed": {"value": GuestValue(type="Loot", text=f"Loot({SECRET})")},
    "in hex": {"value": SECRET.encode().hex()},
    "in base64": {"value": "eHh4" + __import__("base64").b64encode(b"x" + SECRET.encode() + b"yz").decode()},
    "backwards": {"value": SECRET[::-1]},
    "in prints": {"stdout": f"got {SECRET}"},
    "in an error": {"error": MemoryLimit(f"cannot {SECRET}")},
    "in an error's parts": {"error": CodeError("x", type="OSError", message=SECRET)},
    "in a file that the host read": {"read_by_host": [b"x" + SECRET.encode()]},
    "by its own word": {"value": ["no", "ESCAPED: connected"]},
    "by its own word in a value that stayed": {"value": GuestValue(type="list", text="['ESCAPED: x']")},
    "a changed file": {"changed_files": ["/x"]},
    "a stray file": {"strays": ["/tmp/marker"]},
    "a connection": {"connections": ["tcp"]},
    "a private method": {"opened": ["_open"]},
    "more than its share": {"overused": ["9 s of processor time"]},
    "a process": {"processes_left": 1},
    "a descriptor": {"descriptors_left": 1},
    "memory": {"grown_mb": 100_000},
    "a silent neighbour": {"neighbour": ["did not answer"]},
    "a host that failed": {"host_errors": ["OSError: x"]},
}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_escape_is_found(plant: dict[str, Any]) -> None:
    assert len(escapes(planted(**plant), CANARIES.texts())) == 1


def test_the_witnesses_notice(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    before = witnesses.snapshot(tmp_path)
    assert witnesses.changes(before, witnesses.snapshot(tmp_path)) == []
    (tmp_path / "a").write_text("two")
    assert witnesses.changes(before, witnesses.snapshot(tmp_path)) == [str(tmp_path / "a")]
    os.link(tmp_path / "a", tmp_path / "b")
    assert str(tmp_path / "b") in witnesses.changes(before, witnesses.snapshot(tmp_path))

    listeners = witnesses.Listeners(tmp_path)
    assert listeners.heard() == []
    with witnesses.socket.create_connection(("127.0.0.1", listeners.tcp_port)):
        assert listeners.heard() == ["tcp"]
    listeners.close()

    vault = Vault(CANARIES)
    vault._open()  # pyright: ignore[reportPrivateUsage] -- what no guest may do
    assert opened(vault) == ["_open"]

    known = witnesses.descendants()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in witnesses.descendants().keys() - known
        child.communicate(b"\n")
    assert child.pid not in witnesses.descendants()


def test_a_stray_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "x-marker-1.pth").touch()
    assert witnesses.strays("marker-1") == [str(tmp_path / "x-marker-1.pth")]


def test_an_outcome_that_the_file_does_not_allow_is_told(tmp_path: Path) -> None:
    attack = read_attack(written(tmp_path, 'Expect: MemoryLimit | none\n"""'))
    assert unexpected(attack, SOUND)
    assert unexpected(attack, dataclasses.replace(SOUND, error=None)) is None
    assert unexpected(attack, dataclasses.replace(SOUND, error=MemoryLimit("x"))) is None


def written(directory: Path, end: str = '"""', body: str = "\n# control\nTrue\n# attack\n1\n") -> Path:
    path = directory / "some.py"
    path.write_text('"""Tries nothing.\n\nEscape: there is none at all\nControl: the truth\n' + end + body)
    return path


def test_a_file_is_read_into_its_parts(tmp_path: Path) -> None:
    attack: Attack = read_attack(written(tmp_path, 'Limits: memory_mb=64, wall_s=2.5\n"""'))
    assert (attack.title, attack.control, attack.attack) == ("Tries nothing.", "True\n", "1\n")
    assert (attack.limits["memory_mb"], attack.limits["wall_s"], attack.expect) == (64, 2.5, {"any"})


@pytest.mark.parametrize(
    ("end", "body"),
    [('Escape: twice\n"""', "\n# control\nTrue\n# attack\n1\n"), ('"""', "\n# attack\n1\n"), ('"""', "\n1\n")],
)
def test_a_file_that_is_no_attack_is_told(end: str, body: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"some\.py"):
        read_attack(written(tmp_path, end, body))


async def test_a_control_that_fails_fails_the_attack(arena: Arena, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="the control failed"):
        await arena.run(read_attack(written(tmp_path, body="\n# control\nFalse\n# attack\n1\n")))


async def test_an_escape_that_really_happens_is_found(arena: Arena, tmp_path: Path) -> None:
    # The guest is told a canary through the front door, so that the whole way from guest to judge is walked.
    secret = arena.canaries.open_file
    attack = read_attack(written(tmp_path, body=f"\n# control\nTrue\n# attack\n{secret!r}.encode()\n"))
    assert escapes(await arena.run(attack), arena.canaries.texts()) == ["read CANARY-open-file"]
