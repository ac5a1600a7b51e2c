"""The documents as tests read them: fenced blocks with the marks that say what each is, and links.

    <!-- snippet: docs/snippets/first.py -->    the next block is this file, or its part from `# shown:` to `# end`
    <!-- output: docs/snippets/first.py -->     the next block is what the file prints
    <!-- console -->                            the next block is a terminal in docs/snippets: `$ ` lines, then output

`python tests/docs/pages.py` writes what is true now into the blocks; the tests only compare.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SNIPPETS = ROOT / "docs" / "snippets"
BLOCK = re.compile(r"(?P<mark>^<!-- [^\n]*? -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^)\s]+)\)|<img [^>]*src=\"([^\"]+)\"")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block. `kind` is what its mark says ("" without one), `file` what the mark names."""

    page: Path
    line: int
    language: str
    text: str
    kind: str
    file: str
    span: tuple[int, int]

    @property
    def title(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    whole = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(whole):
        kind, _, file = (found["mark"] or "").removeprefix("<!-- ").removesuffix(" -->\n").partition(": ")
        yield Block(
            page=page,
            line=whole.count("\n", 0, found.start("language")) + 1,
            language=found["language"],
            text=found["text"],
            kind=kind,
            file=file,
            span=found.span("text"),
        )


def truth(block: Block) -> str:
    """What a marked block should hold."""
    match block.kind:
        case "snippet":
            return shown_part((ROOT / block.file).read_text(encoding="utf-8"))
        case "output":
            return printed(block.file)
        case "console":
            return session(block.text)
        case _:
            raise ValueError(f"{block.title}: a mark {block.kind!r} that is none")


def shown_part(text: str) -> str:
    """What stands between `# shown:` and `# end`, dedented, with a blank line between two parts; else the whole."""
    parts = re.findall(r"^ *# shown:\n(.*?)^ *# end\n", text, re.M | re.S)
    return "\n\n".join(textwrap.dedent(part).strip("\n") + "\n" for part in parts) or text


@lru_cache
def printed(file: str) -> str:
    """What a snippet prints; it must end well."""
    done = subprocess.run(
        [sys.executable, ROOT / file], cwd=SNIPPETS, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n") + "\n"


def session(text: str) -> str:
    """The terminal block with its commands run again. `echo $?` shows the exit code of the one before."""
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "100"}
    commands = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    shown: list[str] = []
    code = 0
    for command in commands:
        script = f"(exit {code}); {command}"
        done = subprocess.run(
            ["bash", "-c", script], cwd=SNIPPETS, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=120, check=False,
        )  # fmt: skip
        code = done.returncode
        shown.append(f"$ {command}\n{done.stdout}")
    return "".join(shown)


def links(page: Path) -> list[str]:
    """The targets of links and pictures, outside of code."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    return [found[1] or found[2] for found in LINK.finditer(text)]


def anchors(page: Path) -> set[str]:
    """The names that headings get."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    heads = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in heads}


def rewrite(page: Path) -> None:
    """Puts the truth into the marked blocks of a page."""
    whole = page.read_text(encoding="utf-8")
    for block in reversed(list(blocks(page))):
        if block.kind in ("snippet", "output", "console"):
            start, end = block.span
            whole = whole[:start] + truth(block) + whole[end:]
    page.write_text(whole, encoding="utf-8")


if __name__ == "__main__":
    for each in pages():
        rewrite(each)
