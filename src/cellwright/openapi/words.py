"""Words of names: tags, operation ids and paths taken apart, and put together as Python names.

It knows English plurals and no descriptions.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

# `listVMs` → list VMs; `APIResources` → API Resources; `V1beta3` → V1beta3; words of other scripts stay whole
_WORD = re.compile(
    r"[A-Z]{2,}s(?![a-zA-Z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+[0-9]+(?:[a-z]+[0-9]+)*(?![a-z])|[A-Z]?[a-z]+"
    r"|[A-Z]+[0-9]+[a-z]+[0-9]*|[A-Z]+[0-9]*|[0-9]+|[^\W\da-zA-Z_]+"
)
_TOGETHER = re.compile(
    r"OAuth|GitHub|GitLab|OpenAPI|OpenID|iOS|macOS|IPv[46]|GraphQL|YouTube|PayPal|JSON|eSIM|WhatsApp"
)
_IRREGULAR = {
    "people": "person", "children": "child", "indices": "index", "statuses": "status", "addresses": "address",
    "aliases": "alias", "analyses": "analysis", "bases": "base", "media": "media", "data": "data", "news": "news",
    "series": "series", "caches": "cache", "databases": "database", "leases": "lease", "releases": "release",
    "cases": "case", "licenses": "license", "responses": "response", "purchases": "purchase", "movies": "movie",
    "cookies": "cookie", "dns": "dns", "https": "https", "aws": "aws", "ios": "ios", "sms": "sms", "os": "os",
    "gps": "gps", "sos": "sos", "cms": "cms", "rms": "rms", "tls": "tls", "css": "css", "js": "js", "has": "has",
    "ids": "id", "vms": "vm", "ips": "ip",
}  # fmt: skip
LONGEST = 80  # characters of one name


@lru_cache(maxsize=65536)
def words(text: str) -> tuple[str, ...]:
    """The words of a name in lower case: `createCoreV1NamespacedPod` → create core v1 namespaced pod."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    text = _TOGETHER.sub(lambda found: found[0].capitalize(), text.replace("'s ", "s "))
    return tuple(word.lower() for word in _WORD.findall(text))


@lru_cache(maxsize=65536)
def singular(word: str) -> str:
    """`issues` → issue. A word that is not plural stays."""
    known = _IRREGULAR.get(word)
    if known is not None:
        return known
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def is_plural(word: str) -> bool:
    return singular(word) != word


def same(one: str, other: str) -> bool:
    """Whether two words differ only in number."""
    return one == other or singular(one) == singular(other)


def joined(parts: Sequence[str]) -> str:
    """Words as one Python name, "" of none. A keyword gets `_` behind it."""
    name = "_".join(parts)
    if len(name) > LONGEST:
        name = name[: name.rfind("_", 0, LONGEST)] if "_" in name[:LONGEST] else name[:LONGEST]
    if name[:1].isdigit():
        name = f"n{name}"
    if name and not name.isidentifier():
        name = re.sub(r"[^a-z0-9_]+", "", name.encode("ascii", "ignore").decode()).strip("_")
        name = f"n{name}" if name[:1].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) else name


def argument_name(key: str) -> str:
    """A parameter's key as code gives it: spelled as it is, but for what no identifier has."""
    name = "_".join(re.findall(r"\w+", unicodedata.normalize("NFKC", key)))[:LONGEST].strip("_")
    if name[:1].isdigit():
        name = f"n{name}"
    if not name.isidentifier():
        name = "_".join(re.findall(r"[A-Za-z0-9]+", name)) or "value"
        name = f"n{name}" if name[:1].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) or name == "self" else name
