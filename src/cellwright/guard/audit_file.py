"""The lines of an audit: sealed with the hash of what they say and of the line before, read back, and verified.

`verify_audit` finds each line that was changed, removed, inserted or moved. A file whose end was cut at a line, that
was removed, or that was rewritten from some line on, hashes and all, is found against heads that were kept elsewhere.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import re
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cellwright.errors import PlatformError, UsageError

SUFFIX = ".jsonl"
_LINE = re.compile(rb'(\{.*),"hash":"([0-9a-f]{64})"\}', re.DOTALL)
_LONGEST = 1 << 20  # bytes of a line; what is longer is none

_encoder = json.JSONEncoder(ensure_ascii=True, check_circular=False, separators=(",", ":"))
# As in `store.stored_values`: json makes this anew for every text, which takes longer than a short text does.
_chunks: Any = getattr(json.encoder, "c_make_encoder", None)
if _chunks is not None:
    _escape: Any = getattr(json.encoder, "c_encode_basestring_ascii")  # noqa: B009  no public name
    _chunks = _chunks(None, _encoder.default, _escape, None, ":", ",", False, False, True)


class AuditHead(NamedTuple):
    """A line of a chain, by its number, and its hash: it stands for all lines up to it."""

    n: int
    hash: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditFinding:
    """What is wrong with an audit. `torn`: a process died while it wrote its last line, as far as can be seen."""

    file: str
    line: int
    kind: Literal["changed", "removed", "moved", "inserted", "torn"]
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind}: {self.text}"


def as_json(fields: Mapping[str, Any]) -> str:
    """The fields without braces round them."""
    return ("".join(_chunks(fields, 0)) if _chunks is not None else _encoder.encode(fields))[1:-1]


def sealed(fields: Mapping[str, Any], more: str = "") -> tuple[bytes, str]:
    """The line of these fields, and its hash. `prev` among them is the hash of the line before; `more` are further
    fields, by `as_json`.
    """
    body = f"{{{as_json(fields)}{',' if more else ''}{more}".encode("ascii")
    hash = hashlib.sha256(body + b"}").hexdigest()
    return b'%b,"hash":"%b"}\n' % (body, hash.encode("ascii")), hash


def verify_audit(place: str | Path, heads: Mapping[str, AuditHead] | None = None) -> list[AuditFinding]:
    """What is wrong with an audit, file by file: a directory, or one file. `heads` are of an earlier time.

    A chain that has grown since its head was kept is as it should be.
    """
    heads, seen, findings = heads or {}, dict[str, str](), list[AuditFinding]()
    for path in audit_files(place):
        check = _Check(path.name, heads)
        with _readable(path):
            check.read(path)
        findings += check.findings
        if check.chain in seen:
            findings.append(check.finding(1, "inserted", f"its chain is that of {seen[check.chain]}, too"))
        elif check.chain:
            seen[check.chain] = path.name
    for chain in heads.keys() - seen.keys():
        text = f"no file has chain {chain}, whose line {heads[chain].n} was kept"
        findings.append(AuditFinding(file=str(place), line=0, kind="removed", text=text))
    return findings


def audit_heads(place: str | Path) -> dict[str, AuditHead]:
    """The last line of each chain. Kept where nobody of this machine can write, they show what is cut off later."""
    ends: dict[str, AuditHead] = {}
    for path in audit_files(place):
        check = _Check(path.name, {})
        with _readable(path):
            check.read(path)
        if check.chain:
            ends[check.chain] = AuditHead(check.last.n, check.last.hash)
    return ends


def audit_records(place: str | Path) -> Iterator[dict[str, Any]]:
    """What the lines of all files say, the earliest first, and in which `file` each stands.

    What cannot be read is left out: `verify_audit` tells. Only files of processes that ran at the same time are open
    at once.
    """
    files = deque(sorted((_began(path), path) for path in audit_files(place)))
    heads: list[tuple[str, int, dict[str, Any], Iterator[dict[str, Any]]]] = []
    number = 0
    while files or heads:
        if files and (not heads or files[0][0] <= heads[0][0]):
            number, records = number + 1, _records(files.popleft()[1])
            for first in islice(records, 1):
                heapq.heappush(heads, (_at(first), number, first, records))
            continue
        _, place_in_order, record, records = heads[0]
        yield record
        following = next(records, None)
        if following is None:
            heapq.heappop(heads)
        else:
            heapq.heapreplace(heads, (_at(following), place_in_order, following, records))


def audit_files(place: str | Path) -> list[Path]:
    """The files of an audit: those in a directory, or the one that is named."""
    path = Path(place)
    if path.is_dir():
        return sorted(one for one in path.iterdir() if one.name.endswith(SUFFIX) and one.is_file())
    if not path.is_file():
        raise UsageError(f"there is no audit in {place}")
    return [path]


def _began(path: Path) -> str:
    return next(map(_at, _records(path)), "")


def _at(record: Mapping[str, Any]) -> str:
    return str(record.get("at", ""))


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with _readable(path), path.open("rb") as file:
        for raw in _lines(file):
            record = _read(raw) if raw.endswith(b"\n") else None  # nobody vouches for a line that is not whole
            if record is not None:
                yield record | {"file": path.name}


def _lines(file: Any) -> Iterator[bytes]:
    return iter(lambda: file.readline(_LONGEST), b"")


def _read(raw: bytes) -> dict[str, Any] | None:
    try:
        record: Any = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None  # pyright: ignore[reportUnknownVariableType] - JSON


@contextmanager
def _readable(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise PlatformError(f"cannot read {path}: {error.strerror or error}") from None


@dataclass(kw_only=True, slots=True)
class _Last:
    """The line before. `sure`: the next line must follow it."""

    n: int = 0
    hash: str = ""
    event: str = ""
    sure: bool = True


@dataclass(slots=True)
class _Check:
    """Reads one file. `chain` is what its first line says."""

    name: str
    heads: Mapping[str, AuditHead]
    chain: str = ""
    last: _Last = field(default_factory=_Last)
    findings: list[AuditFinding] = field(default_factory=list[AuditFinding])

    def read(self, path: Path) -> None:
        number, met = 0, False
        with path.open("rb") as file:
            for number, raw in enumerate(_lines(file), 1):
                if not raw.endswith(b"\n") and len(raw) < _LONGEST:
                    self._find(number, "torn", "the last line is not whole: whoever wrote it died meanwhile")
                    continue
                self._line(number, raw[:-1])
                head = self.heads.get(self.chain)
                if head is not None and self.last.n == head.n and not met:
                    met = True
                    if self.last.hash != head.hash:
                        self._find(number, "changed", f"it is another line than that whose hash was kept (n={head.n})")
        head = self.heads.get(self.chain)
        if number == 0:
            self._find(0, "torn", "there is no line: whoever began it died at once")
        elif head is not None and not met:
            self._find(number, "removed", f"the chain goes up to n={self.last.n}; n={head.n} was kept")

    def finding(self, line: int, kind: Any, text: str) -> AuditFinding:
        return AuditFinding(file=self.name, line=line, kind=kind, text=text)

    def _find(self, line: int, kind: Any, text: str) -> None:
        self.findings.append(self.finding(line, kind, text))

    def _line(self, number: int, raw: bytes) -> None:
        parts, record = _LINE.fullmatch(raw), _read(raw)
        n: Any = None if record is None else record.get("n")
        if parts is None or record is None or type(n) is not int:
            self._find(number, "changed", "it is no line of an audit")
            self.last.sure = False
            return
        event, claimed = str(record.get("event")), parts[2].decode("ascii")
        if hashlib.sha256(parts[1] + b"}").hexdigest() != claimed:
            self._find(number, "changed", f"n={n} does not have its own hash")
        elif self.last.sure:
            self._follows(number, record, n)
        if number == 1:
            self.chain = str(record.get("chain", ""))
        self.last = _Last(n=n, hash=claimed, event=event)

    def _follows(self, number: int, record: dict[str, Any], n: int) -> None:
        expected = self.last.n + 1
        if number == 1 and (n != 1 or record.get("event") != "begin" or record.get("prev") != ""):
            self._find(1, "removed", f"the file begins with n={n}, not with the beginning of a chain")
        elif number > 1 and self.last.event == "end":
            self._find(number, "inserted", "it stands after the end of the chain")
        elif n > expected:
            self._find(number, "removed", f"n={expected} to n={n - 1} are missing before it")
        elif n < expected:
            self._find(number, "moved", f"n={n} stands after n={self.last.n}")
        elif record.get("prev") != self.last.hash:
            self._find(number, "inserted", f"n={n} does not follow the line before it")
