"""The documents are true: their code is files that run, their output is what those print, their links lead on."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from tests.docs.pages import ROOT, SNIPPETS, Block, anchors, blocks, links, pages, truth
from tests.models.conftest import pulled

WITH_A_MODEL = "examples/readme.py"

BLOCKS = [block for page in pages() for block in blocks(page)]
MARKED = [block for block in BLOCKS if block.kind in ("snippet", "output", "console")]
INDEX = ROOT / "docs" / "index.md"
# What other snippets import or start.
BEHIND = {f"docs/snippets/{name}.py" for name in ("live", "notes_server", "replies", "shop_api")}


def block_of(block: Block) -> ParameterSet:
    """A block of output runs a program, in `make slow`."""
    return pytest.param(block, id=block.title, marks=() if block.kind == "snippet" else pytest.mark.slow)


@pytest.mark.parametrize("block", [block_of(block) for block in MARKED])
def test_a_marked_block_is_what_the_file_is_and_prints(block: Block) -> None:
    if block.file == WITH_A_MODEL and block.kind != "snippet":
        pulled()
    assert block.text == truth(block), "run `python tests/docs/pages.py`, and look at what changed"


def test_every_python_block_is_a_file() -> None:
    assert [block.title for block in BLOCKS if block.language in ("python", "console") and not block.kind] == []


def test_every_snippet_is_shown_somewhere() -> None:
    shown = {block.file for block in MARKED} | BEHIND
    assert {f"docs/snippets/{file.name}" for file in SNIPPETS.glob("*.py")} - shown == set()


@pytest.mark.parametrize("page", sorted({*pages(), *ROOT.glob("*.md")}), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken: list[str] = []
    for link in links(page):
        if "://" in link or link.startswith("mailto:"):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_is_reachable_from_the_index() -> None:
    seen: set[Path] = set()
    pending = [INDEX]
    while pending:
        page = pending.pop()
        if page in seen or page.suffix != ".md" or not page.is_file():
            continue
        seen.add(page)
        pending += [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if "://" not in link]
    assert set((ROOT / "docs").rglob("*.md")) - seen == set()


@pytest.mark.slow
def test_the_demo_runs_on_a_real_model_in_a_pipe_without_colour() -> None:
    pulled()
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py", "--model", "local"],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert "\x1b" not in done.stdout
    assert done.returncode in (0, 1), done.stdout + done.stderr
    right = re.findall(r"(right|wrong) *│$", done.stdout, re.MULTILINE)
    assert len(right) == 3
    assert right.count("right") >= 2, done.stdout  # another processor rounds otherwise, and the model is small
    assert (done.returncode == 0) == ("wrong" not in right)


@pytest.mark.slow
def test_the_cells_run_in_a_pipe_without_colour_and_nothing_escapes() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "cells.py"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    assert "ESCAPED" not in done.stdout
    assert all(word in done.stdout for word in ("TimeLimit", "MemoryLimit", "refused: NotPublic", "median of"))


def test_the_readme_begins_with_what_a_stranger_needs() -> None:
    first = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:40])
    assert "make demo" in first
    assert "<!-- snippet: examples/readme.py -->" in first
    assert "<!-- output: examples/readme.py -->" in first
    assert "What it is not" in first


@pytest.mark.slow
def test_the_guards_demo_holds_what_a_poisoned_mail_wants_and_nothing_else() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "mailbox.py"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    went = re.findall(r"mails went to: (.*)", done.stdout)
    assert went == ["ada@firm.example, refunds@parcel-hub.example, refunds@parcel-hub.example", "ada@firm.example"]
    assert done.stdout.count("  ? post.send('refunds@parcel-hub.example'") == 2
    assert "verified: nothing was changed, removed or moved" in done.stdout
