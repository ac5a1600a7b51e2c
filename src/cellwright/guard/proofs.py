"""`Proofs`: which values may say to whom, or on what, a call acts. Compared exactly, after normalisation by type.

A value is proven by the person's own words, by a literal of code that nothing untrusted influenced, or by a trusted
answer. No part of a value proves the whole, and no whole a part. It knows no calls.
"""

from __future__ import annotations

import ast
import re
import textwrap
import unicodedata
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from urllib.parse import urlsplit

from cellwright.scope import Scalar, parse
from cellwright_guest.wire import type_of

MOST = 100_000  # values of each kind; further ones prove nothing
LISTS = 200  # trusted answers whose records are kept, the latest
RECORDS = 2_000  # of one answer
DIGITS = 400  # of a number in a text
NEAR = 8  # characters beside a value in a text that are looked at
PIECE, OVERLAP = 1 << 16, 50  # characters that are searched before other threads have a turn
# each begins where a word does, so that none is looked for from every letter of a long text
_MAIL = re.compile(r"(?<![^\s@<>,;:\"'()\[\]])[^\s@<>,;:\"'()\[\]]{1,64}@[^\s@<>,;:\"'()\[\]/]{1,253}")
_URL = re.compile(r"(?<![a-zA-Z0-9+.-])[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s<>\"'`]{1,2000}")
_PLACES = frozenset("url uri href link host hostname domain endpoint webhook site website".split())  # parameters
_LEADS = re.compile(r"(?:[a-zA-Z0-9+.-][\t\r\n]*){2}:[\t\r\n]*[/\\]|^\s*[/\\]{2}")
_IBAN = re.compile(r"\b[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]){10,30}\b")
_LINK = re.compile(r"(?:[a-zA-Z][a-zA-Z0-9+.-]{1,20}://|\bwww\.)[^\s<>\"'`]{1,2000}", re.IGNORECASE)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DATE = re.compile(rf"\b{_MONTH} \d{{1,2}}\b(?![.,]\d)|\b\d{{1,2}}\.? {_MONTH}(?![a-z])", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,])[-+]?\d{1,30}(?:[.,]\d{1,30})*(?![\w])")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_WORD = re.compile(r"\w+")
_END = ".,;:!?)]}'\"*_”’»"
_JOINS = "@._-/%+#&=~\\?:$"
_LONG = 1_000  # bits of a number that is written in decimals: longer ones take Python too long
# Words of any sentence. An address is none of these, and the name of a channel or a group may be.
_COMMON = frozenset(
    "a all also an and any are as at be but by can do each every everyone for from get give go has have he her him his "
    "how i if in into is it its latest last let list make me message more most my new no not now of on one or other "
    "our out please read send she should show so some summary tell that the their them then there they this to up us "
    "use was we what when where which who will with you your".split()
)

Word = Callable[[str], bool]


def normalised(value: Scalar) -> str:
    """The form in which values are compared: NFKC, case, IDNA; of mails, hosts, URLs, IBANs and numbers their own."""
    kind = type_of(value)
    if kind in (int, float):
        return _number(value)
    text = (value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)).strip()
    if _URL.fullmatch(text):
        return _url(text)
    text = unicodedata.normalize("NFKC", text).strip()
    if _MAIL.fullmatch(text):
        local, _, host = text.rpartition("@")
        return f"{local.lower()}@{_host(host)}"
    if _IBAN.fullmatch(text) and _is_iban(text.replace(" ", "")):
        return text.replace(" ", "").lower()
    return _folded(text)


def _folded(text: str) -> str:
    """Not `casefold`: it makes `ß` and `ss` one, and there are two such hosts, mailboxes and people."""
    return " ".join(text.lower().split())


def _number(value: Scalar) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e300 else repr(value)
    number = int(value)
    return str(number) if number.bit_length() < _LONG else hex(number)


def _is_iban(text: str) -> bool:
    """Whether the check digits are right."""
    moved = (text[4:] + text[:4]) if text.isascii() else ""
    return moved.isalnum() and int("".join(str(int(letter, 36)) for letter in moved)) % 97 == 1


def _host(host: str) -> str:
    labels = unicodedata.normalize("NFKC", host).rstrip(".").lower().split(".")
    try:  # as IDNA 2008: the codec `idna` is of 2003, and takes away what tells two hosts apart
        return ".".join(one if one.isascii() else f"xn--{one.encode('punycode').decode('ascii')}" for one in labels)
    except UnicodeError:
        return ".".join(labels)


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return text
    usual = {"http": 80, "https": 443}.get(parts.scheme.lower())
    host = _host(parts.hostname or "")
    place = (f"[{host}]" if ":" in host else host) + (f":{port}" if port is not None and port != usual else "")
    user = f"{parts.username}:{parts.password}@" if parts.username or parts.password else ""
    query = f"?{parts.query}" if parts.query else ""
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"{parts.scheme.lower()}://{user}{place}{parts.path or '/'}{query}{fragment}"


def is_place(name: str, value: Scalar) -> bool:
    """Whether an argument says where on the net: by the name of its parameter, or by a URL in it."""
    return (name.lower() in _PLACES and value not in ("", b"")) or is_url(value)


def is_url(value: Scalar) -> bool:
    """Whether a URL stands in the value, also one that only a lenient library takes for one."""
    if isinstance(value, int | float):
        return False
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return any(_LEADS.search(text, at, at + PIECE + OVERLAP) for at in range(0, len(text), PIECE))


def addresses_in(text: str) -> Iterator[str]:
    """Mails, URLs and IBANs in a text, normalised."""
    for pattern in (_URL, _MAIL):
        for found in pattern.finditer(text):
            address, bare = found[0], len(found[0].rstrip(_END))
            ends = range(bare, min(bare + NEAR, len(address)) + 1)  # a URL may end with a bracket
            yield from (normalised(address[:end]) for end in ends)
    for found in _IBAN.finditer(text):  # with the words after it
        parts = found[0].split(" ")
        yield from filter(_is_iban, ("".join(parts[:end]).casefold() for end in range(1, len(parts) + 1)))


def links_in(value: Scalar) -> Iterator[str]:
    """What a program that shows the text makes a link of."""
    if isinstance(value, str):
        yield from (found[0].rstrip(_END) for found in _LINK.finditer(unicodedata.normalize("NFKC", value)))


def home_of(title: str) -> str:
    """The object of the scope that an operation is of; plain functions have one home together."""
    return title.partition(".")[0].partition("#")[0] if "." in title else ""


class Words:
    """What the person wrote: the tasks of turns, and messages."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._words: set[str] = set()
        self._undated: list[str] = []  # a date says nothing of what has its day for a number
        self._addresses: set[str] = set()
        self._numbers: set[str] = set()

    def add(self, text: str) -> None:
        plain = unicodedata.normalize("NFKC", text)
        self._texts.append(_folded(plain))
        self._words.update(_WORD.findall(self._texts[-1]))
        self._addresses.update(addresses_in(text))
        plain = _DATE.sub(" ", " ".join(plain.split()))
        self._undated.append(plain)
        for found in _NUMBER.finditer(plain):
            digits = found[0].replace(",", "" if _THOUSANDS.fullmatch(found[0]) else ".")
            if digits.count(".") < 2 and len(digits) < DIGITS:
                number = Decimal(digits)
                self._numbers.add(_number(int(number) if number == int(number) else float(number)))

    def has(self, value: Scalar) -> bool:
        """Whether the person wrote exactly this value, as a word or some words of its own."""
        plain = normalised(value)
        return plain in self._numbers if type_of(value) in (int, float) else self.has_text(plain)

    def has_text(self, plain: str) -> bool:
        """The same of a text that is normalised."""
        if plain in self._addresses or _URL.fullmatch(plain):
            return plain in self._addresses
        first = _WORD.search(plain)
        if not plain or plain in _COMMON or (first is not None and first[0] not in self._words):
            return False
        texts = self._undated if plain.isdigit() else self._texts
        return any(_stands_alone(plain, text) for text in texts)

    @property
    def count(self) -> int:
        return len(self._texts)

    @property
    def length(self) -> int:
        """Characters that are searched for a value that is not in them."""
        return sum(map(len, self._texts))


def _stands_alone(value: str, text: str) -> bool:
    at = text.find(value)
    while at >= 0:
        end = at + len(value)
        if not _continues(text[max(at - NEAR, 0) : at][::-1], value[0]) and not _continues(
            text[end : end + NEAR], value[-1]
        ):
            return True
        at = text.find(value, at + 1)
    return False


def _continues(after: str, edge: str) -> bool:
    """Whether a word goes on: `after` are the next characters, away from the value, whose last one is `edge`."""
    if after[:1] and (after[0].isalnum() or after[0] == "_"):
        return edge.isalnum() or edge in _JOINS
    rest = after.lstrip(_JOINS)
    return len(rest) < len(after) and rest[:1].isalnum()


class TrustedList:
    """The records of one trusted answer, normalised, each with what stands in it."""

    def __init__(self, records: list[frozenset[str]]) -> None:
        self._records = records
        counts = Counter(value for record in records for value in record)
        self._names = {value for value, count in counts.items() if count == 1 and _is_name(value)}

    def named(self, words: Words) -> set[str]:
        """What stands in a record that has a name which no other has, and which the person wrote."""
        named = set[str]()
        for record in self._records:
            names = [value for value in record & self._names if words.has_text(value)]
            if names:
                named |= record.difference(names if len(names) == 1 else ())
        return named


class Proofs:
    """The proofs of one session."""

    def __init__(self) -> None:
        self.words = Words()
        self._literals: set[str] = set()
        self._looked_up: set[str] = set()
        self._trusted: set[str] = set()
        self._hits: set[str] = set()
        self._lists: deque[TrustedList] = deque(maxlen=LISTS)
        self._named = (0, set[str]())  # of the lists, and how many texts the person had written

    def add_literals(self, literals: Iterable[str]) -> None:
        """The literals of code that nothing untrusted influenced."""
        self._add(self._literals, literals)

    def add_looked_up(self, values: Iterable[Scalar]) -> None:
        """What code that nothing untrusted influenced asked a reading call for: to ask about it is not to choose it."""
        self._add(self._looked_up, (normalised(value) for value in values))

    def add_trusted(self, values: Iterable[Scalar], *, hit: bool, home: str = "") -> None:
        """The values of a trusted answer. `hit`: it is one record, and what it was asked for is proven."""
        known = [normalised(value) for value in values]
        self._add(self._trusted, known)
        if hit:
            self._add(self._hits, (_of(home, value) for value in known))

    def add_records(self, records: Iterable[Mapping[str, Scalar]], *, home: str = "") -> None:
        """The records of a trusted answer: one of them is proven by a name in it that the person wrote."""
        kept = [frozenset(_of(home, normalised(value)) for value in record.values()) for record in records]
        if 0 < len(kept) <= RECORDS:
            trusted = TrustedList(kept)
            self._lists.append(trusted)
            texts, named = self._named
            self._named = texts, named | trusted.named(self.words)

    @staticmethod
    def _add(values: set[str], more: Iterable[str]) -> None:
        for value in more:
            if len(values) < MOST:
                values.add(value)

    def proves(self, value: Scalar, *, influenced: bool, home: str = "") -> bool:
        """`influenced`: the code that chose the value had read something untrusted. `home`: of the operation."""
        plain = normalised(value)
        chosen = plain in self._literals and not (influenced and plain in self._looked_up)
        if chosen or _of(home, plain) in self._hits or self.words.has(value):
            return True
        return self._is_named(_of(home, plain)) if influenced else plain in self._trusted

    def _is_named(self, value: str) -> bool:
        """Whether it stands in the one record of a trusted answer that has a name which the person wrote."""
        texts, named = self._named
        if texts != self.words.count:
            texts, lists = self.words.count, tuple(self._lists)  # a thread may add one
            self._named = texts, named.union(*(one.named(self.words) for one in lists))
        return value in self._named[1]

    @property
    def is_stale(self) -> bool:
        """Whether the person has written something since the lists were read, which may take long."""
        return self._named[0] != self.words.count and bool(self._lists)

    def has_trusted(self, value: Scalar) -> bool:
        """Whether a trusted answer had this value."""
        return normalised(value) in self._trusted


def _of(home: str, value: str) -> str:
    """A number is one of something: of a file in the drive, of an event in the calendar."""
    return f"{home}\n{value}" if value.isdigit() else value


def _is_name(text: str) -> bool:
    return len(text) > 1 and any(letter.isalpha() for letter in text)


_TEXTS = frozenset("exec eval __import__ __builtins__".split())
_NAMES = _TEXTS | frozenset("compile importlib runpy pickle cloudpickle marshal subprocess FunctionType".split())
_MODULES = _NAMES | frozenset("builtins code codeop dill joblib shelve".split())


def read_code(code: str) -> tuple[set[str], bool]:
    """The texts and numbers that stand in the code as they are, and whether it may run text that it got from elsewhere.

    The parts of an f-string are none.
    """
    try:
        tree = parse(textwrap.dedent(code))
    except SyntaxError:
        return set(), True
    found, runs = set[str](), False
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        runs = runs or _may_run_text(node)
        if isinstance(node, ast.JoinedStr):
            pending.extend(part.value for part in node.values if isinstance(part, ast.FormattedValue))
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str | int | float | bytes) and not isinstance(node.value, bool):
                found.add(normalised(node.value))
        else:
            pending.extend(ast.iter_child_nodes(node))
    return found, runs


def _may_run_text(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name):
            return name in _NAMES
        case ast.Attribute(attr=name):
            return name in _NAMES and name != "compile"  # `re.compile`
        case ast.Constant(value=str(text)):
            return text in _TEXTS or ".py" in text  # for `getattr`; and the file of a module that is imported
        case ast.Import(names=names):
            return any(alias.name.partition(".")[0] in _MODULES for alias in names)
        case ast.ImportFrom(module=module, names=names):
            modules = ((module or "").partition(".")[0], *(alias.name for alias in names))
            return not _MODULES.isdisjoint(modules)
        case _:
            return False
