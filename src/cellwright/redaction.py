"""What must not be told, by name and by value: names that carry a credential, key formats, texts without them.

`is_secret_name` is for members, fields, parameters and keys of data: it hides, so it has few false alarms.
`is_secret_setting` is for variables, headers, options and queries, where a false alarm costs a word of a message.

`without_keys` removes by value: key formats and logins in URLs. `clean` is for texts about host objects, which are
errors, reprs and log lines: also by name (`password='…'`), and without addresses and host paths. Both take time in
proportion to the text, which may be a guest's. Data is never changed by value. Keys that a connector was given are
known, and removed by its `Redactor`.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, urlsplit

from cellwright.key_formats import FORMATS, LOGIN, MARKS, PEM, SHORTEST_KEY, is_key

MASK = "***"

# names

_LONGEST_NAME = 100
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_STRONG = frozenset(
    "apikey apikeys authorization bearer conninfo connstr cookie cookiejar cookies credential credentials creds dsn "
    "htpasswd jwt passcode passphrase passphrases passwd password passwords passwort pwd secret secrets".split()
)
_GLUED = ("apikey", "passphrase", "passwd", "password", "secret")  # also at the end of a longer word: `dbpassword`
# `has_password` is a fact about a password
_FACTS = frozenset(
    "allow allows can enable enabled forgot has is missing must needs no require requires should show supports use "
    "uses".split()
)
_ENDS = frozenset(
    "again b64 base64 binary bytes confirm confirmation current digest encoded hash hashed hex new old pem plain "
    "plaintext raw repeat str string text value".split()
)
_KEYS = frozenset(  # what a key is for, or of whom, where it is a secret; `sort_key` and `issue_key` are not
    "access activation admin aes api auth bot cipher consumer cookie decryption deploy "
    "encryption fernet gpg hmac instrumentation integration jwt licence license master pgp private root rsa sas secret "
    "service session shared signing ssh subscription webhook "
    "algolia amplitude anthropic auth0 aws azure bitbucket braintree claude cloudflare cohere datadog deepseek "
    "digitalocean discord dropbox fastly fcm firebase gcp gemini github gitlab gmaps google groq heroku hf hubspot "
    "huggingface intercom mailchimp mailgun mapbox maps mistral mixpanel netlify newrelic okta openai openrouter "
    "pagerduty paypal perplexity pinecone plaid postmark qdrant replicate salesforce segment sendgrid sentry serpapi "
    "serper shopify slack square stripe supabase tavily telegram together twilio vercel weaviate zendesk".split()
)
_NO_SECRET_TOKENS = frozenset(  # paging, idempotency, and language models
    "bos cancel cancellation change cls continuation continue current cursor end eos first idempotency input last mask "
    "max min next nextpage output page pad pagination per prev previous resume sep special start stop sync unk "
    "word".split()
)
_SECRET_TOKENS = frozenset("access api auth bearer csrf device id oauth refresh secret session".split())  # `…_tokens`
_LOGINS = frozenset(
    "admin auth db email ftp http imap ldap login mail my mysql pg postgres proxy redis root smtp user".split()
)
_STORES = frozenset(
    "amqp broker cassandra celery clickhouse conn connection couchdb database db elastic elasticsearch jdbc kafka ldap "
    "mariadb mongo mongodb opensearch "
    "mssql mysql nats neo4j oracle pg postgres postgresql rabbitmq redis sentry smtp snowflake sqlalchemy".split()
)
_AUTHS = frozenset("api basic bearer client db digest http login proxy redis registry user".split())
_SETTING = re.compile(
    r"key|token|secret|passw|pwd|auth|credential|cookie|session|signature|(?:^|[_-])(?:sig|pat)$", re.IGNORECASE
)


def is_secret_name(name: str) -> bool:
    """Whether a member, field, parameter or key of this name carries a credential, by the words that it ends with."""
    return _is_secret(name[-_LONGEST_NAME:])


def is_secret_setting(name: str) -> bool:
    """Whether a variable, header, option or parameter of a URL of this name may hold a key."""
    return _SETTING.search(name) is not None or is_secret_name(name)


@lru_cache(maxsize=4096)
def _is_secret(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or (words[0] in _FACTS and len(words) > 1):
        return False
    before, last = words[-2] if len(words) > 1 else "", words[-1]
    if last in ("string", "str", "uri", "url") and before in _STORES:
        return last in ("uri", "url") or before in ("conn", "connection")
    if last == "id" and words[-3:-1] == ["access", "key"]:
        return True  # of AWS
    if words[-3:] == ["secret", "key", "base"]:
        return True  # of Rails
    while len(words) > 1 and last in _ENDS:
        words.pop()
        before, last = words[-2] if len(words) > 1 else "", words[-1]
    return _ends_secret(before, last)


def _ends_secret(before: str, last: str) -> bool:
    if last in _STRONG or last.endswith(_GLUED):
        return True
    match last:
        case "token":
            return before not in _NO_SECRET_TOKENS
        case "tokens":
            return before in _SECRET_TOKENS
        case "key" | "keys":
            return before in _KEYS
        case "auth":
            return not before or before in _AUTHS
        case "header" | "headers":
            return before in ("auth", "authorization")
        case "pass" | "pw":
            return before in _LOGINS
        case "pat":
            return before in _KEYS or before in ("ado", "devops", "gh", "personal", "user")
        case "code" | "codes":
            return before in ("backup", "recovery")
        case _:
            return (last.endswith("token") and not last[:-5].endswith(tuple(_NO_SECRET_TOKENS))) or (
                (last.endswith("key") and last[:-3] in _KEYS) or (last.endswith("pass") and last[:-4] in _LOGINS)
            )


# values

_OWN_SCHEME = re.compile(r"[A-Za-z][\w+.-]{0,30}://")
_PARAMETER = re.compile(r"([?&]([^=&#]{1,100})=)[^&#\s]+")
_OWN_LOGIN = re.compile(r"\A([A-Za-z][\w+.-]*://)[^/?#\s]*@")  # of a text that is a URL
_USER = re.compile(r"(?<=://)[^/\s@:'\"]{12,}@")  # a token may stand in the place of the user


def without_keys(text: str) -> str:
    """The text without what has the format of a key, and without logins in URLs."""
    if len(text) >= SHORTEST_KEY and any(mark in text for mark in MARKS):
        text = FORMATS.sub(_masked_format, text)
    if "PRIVATE KEY" in text:
        text = PEM.sub(MASK, text)
    if "://" not in text:
        return text
    text = LOGIN.sub(f"{MASK}@", text)
    return _USER.sub(lambda user: f"{MASK}@" if _is_random(user[0]) else user[0], text)


def _masked_format(found: re.Match[str]) -> str:
    return MASK if is_key(found) else found[0]


# texts about host objects

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_NAMED = re.compile(r"(?<![\w.-])([\w.-]++)(\\*[\"']?\s{0,4}[:=]\s{0,4}|[\"'],\s?)(?=\S)")
_SPOKEN = re.compile(
    r"(?i)\b(bearer|basic|token|api[ _-]?key|password|passphrase|secret)(\s{1,4}['\"]?)([^\s'\",;]{6,})"
)
_OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z][\w-]*)( ['\"]?)([^\s'\"-][^\s'\"]*)")  # --password …
_USER_OPTION = re.compile(r"(?<![\w-])((?:-u|--user)['\"]?,?[ =]['\"]?[^\s:'\",]{1,64}:)[^\s'\"]+")  # -u ann:…
_OPENED = re.compile(r"[bru]{0,2}(\\*)([\"'])", re.IGNORECASE)
_QUOTED = {'"': re.compile(r'(?:[^"\\]|\\.)*+', re.DOTALL), "'": re.compile(r"(?:[^'\\]|\\.)*+", re.DOTALL)}
_BARE = re.compile(r"(?:(?i:bearer|basic|token|digest|negotiate)\s{1,4})?[^\s'\",;&()\[\]{}<>]+")
_NO_VALUE = re.compile(
    r"(?:none|null|true|false|str|string|bytes|int|float|bool|any|object|dict|list|tuple|optional|union|literal|"
    r"secretstr|secretbytes|\.\.\.|…|\*+|%s)\b.*|[.…*]+",
    re.IGNORECASE,
)
_COOKIES = re.compile(r"[^\n'\"]+")
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_SHORTEST_SAID = 6  # characters after a colon: `token: bad` is said of a token
_ROOTS = "/boot /etc /home /mnt /nix /opt /private /proc /root /run /snap /srv /sys /tmp /usr /var /Users /Volumes"


def clean(text: str) -> str:
    """A text about host objects without addresses, credentials and host paths."""
    text = redacted(without_addresses(text))
    text = _SPOKEN.sub(lambda said: f"{said[1]}{said[2]}{MASK}" if _is_random(said[3]) else said[0], text)
    return _host_paths().sub(lambda path: ".../" + path.group(0).rpartition("/")[2], text)


def redacted(text: str) -> str:
    """The text without credentials, by format and by name. For files and lines of others, whose paths are wanted."""
    text = _without_named(without_keys(text))
    if " -" not in text and "'-" not in text:
        return text
    text = _OPTION.sub(lambda one: f"{one[1]}{one[2]}{MASK}" if is_secret_name(one[1]) else one[0], text)
    return _USER_OPTION.sub(rf"\1{MASK}", text)


def without_addresses(text: str) -> str:
    """Text of host objects without their addresses, which tell a guest where the host's memory lies."""
    return _ADDRESS.sub("", text)


def without_login(text: str) -> str:
    """A URL without its login and the keys in its query; any other text as it is."""
    if _OWN_SCHEME.match(text) is None:
        return text
    text = _OWN_LOGIN.sub(rf"\1{MASK}@", text)
    return _PARAMETER.sub(lambda one: f"{one[1]}{MASK}" if is_secret_name(unquote(one[2])) else one[0], text)


def _without_named(text: str) -> str:
    """The text without values after a secret's name: `password='…'`, `"token": "…"`, `Authorization: Bearer …`."""
    parts: list[str] = []
    done = 0
    for found in _NAMED.finditer(text):
        at = found.end()
        before = text[max(found.start() - 8, 0) : found.start()]
        if found.start() < done or not _is_named(before, found[1], found[2]):
            continue
        if "," in found[2] and not _OPENED.match(text, at):  # `declare("api.token", hide=False)`
            continue
        begin, end = _value(text, at, ":" != found[2].strip())
        if begin == at and end > at and found[1].lower().endswith("cookie"):
            end = max(end, at + len((_COOKIES.match(text, at) or [""])[0]))  # `Cookie: a=1; b=2`
        if end > begin:
            parts += [text[done:begin], MASK]
            done = end
    return "".join([*parts, text[done:]]) if parts else text


def _is_named(before: str, name: str, mark: str) -> bool:
    """Whether what follows a name and a mark is a secret's value. `before`: some characters before the name."""
    if "," in mark and not (name.startswith("--") or before.endswith(("('", '("', "(b'", '(b"'))):
        return False  # `('token', '…')` is a pair, ['--token', '…'] a command, ['token', 'name'] a list of names
    if name == "AccountKey":  # of Azure
        return True
    if is_secret_name(name):
        return True
    if mark == "=" and before.endswith(("?", "&")):
        return is_secret_setting(name)
    return name.lower() == "key" and before.lower().endswith(("api ", "access ", "secret ", "private "))


def _value(text: str, at: int, assigned: bool) -> tuple[int, int]:
    """Where the value that begins at `at` lies, without its quotes. `assigned`: and not only said, after a colon."""
    opened = _OPENED.match(text, at)
    if opened is not None:
        begin, (slashes, quote) = opened.end(), opened.groups()
        if not slashes:
            closed = _QUOTED[quote].match(text, begin)
            return begin, closed.end() if closed else begin
        end = text.find(slashes + quote, begin)
        return begin, len(text) if end < 0 else end
    bare = _BARE.match(text, at)
    end = bare.end() if bare is not None else at
    if end < len(text) and text[end] in _PAIRS and not (bare is not None and _NO_VALUE.fullmatch(bare[0])):
        return at, _closed(text, end)
    if bare is None or _NO_VALUE.fullmatch(bare[0]) or (not assigned and end - at < _SHORTEST_SAID):
        return at, at
    return at, end


def _closed(text: str, at: int) -> int:
    """The end of a bracket; of the text, where it is not closed."""
    depth = 0
    for found in re.compile(r"[()\[\]{}]").finditer(text, at):
        depth += 1 if found[0] in _PAIRS else -1
        if depth == 0:
            return found.end()
    return len(text)


def _is_random(word: str) -> bool:
    """Whether a word looks made up by a machine: with a digit, with capitals inside, or very long."""
    return len(word) >= 24 or re.search(r"\d|[a-z][A-Z]|=$", word) is not None


@lru_cache(maxsize=1)
def _host_paths() -> re.Pattern[str]:
    home = os.path.expanduser("~")  # "~" itself where this user has none
    roots = {home, sys.prefix, sys.base_prefix, *_ROOTS.split()}
    with contextlib.suppress(FileNotFoundError):
        roots.add(os.getcwd())
    listed = "|".join(re.escape(root) for root in sorted(roots, key=len, reverse=True) if len(root) > 3)
    return re.compile(rf"(?<![\w.-])(?:{listed})(?:/[^\s'\":,;()<>]*)+")


# command lines and URLs: what of them may be shown, and which keys are in them

SHORTEST = 6  # characters of a key: "true" is none, and hiding it would spoil other texts
_SCHEME = re.compile(r"(?:bearer|basic|token)\s+", re.IGNORECASE)
# --api-key=…, API_KEY=…, Authorization: …
_ARGUMENT = re.compile(r"(?:--?)?([A-Za-z][\w.-]*)\s*[=:]\s*(.+)", re.DOTALL)
_LONG = re.compile(r"[\w.~=-]{20,}")  # a part of a path: with a letter and a digit in it, it looks random


def bare_key(value: str) -> str:
    """A key without the scheme that may stand before it in a header."""
    return _SCHEME.sub("", value, count=1).strip()


def keys_in_command(words: Sequence[str]) -> Iterator[str]:
    """The keys among the arguments of a program."""
    for before, word in zip(("", *words), words, strict=False):
        named = _ARGUMENT.fullmatch(word)
        if before.startswith("-") and "=" not in before and is_secret_setting(before) and not word.startswith("-"):
            yield bare_key(word)
        elif "://" in word:
            yield from keys_in_url(word)
        elif named is not None and is_secret_setting(named[1]):
            yield bare_key(named[2])
        elif without_keys(word) != word:
            yield word


def keys_in_url(url: str) -> Iterator[str]:
    """The keys in a URL: its login, parameters of its query with a key's name, parts of its path that look random."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    yield unquote(parts.password or parts.username or "")
    yield from (value for name, value in parse_qsl(parts.query) if is_secret_setting(name))
    yield from filter(_has_letter_and_digit, _LONG.findall(parts.path))


def bare_url(url: str) -> str:
    """A URL as it may be shown: without login, query, fragment and the parts of its path that look random."""
    bare = re.sub(r"//[^/@]*@", "//", re.split(r"[?#]", url, maxsplit=1)[0])
    return _LONG.sub(lambda part: "…" if _has_letter_and_digit(part[0]) else part[0], bare)


def url_holds_key(url: str) -> bool:
    """Whether a URL has a login, or a parameter with a key's name."""
    names = re.findall(r"[?&]([^=&#]+)=", url)
    return re.search(r"(?i)^https?:/*[^/?#]*@|://[^/?#]*@", url) is not None or any(map(is_secret_setting, names))


def _has_letter_and_digit(part: str) -> bool:
    return re.search(r"\d", part) is not None and re.search("[A-Za-z]", part) is not None


def masked(words: Sequence[str]) -> list[str]:
    """The words of a command line without its keys."""
    shown = list(words)
    for key in sorted((key for key in keys_in_command(words) if len(key) >= SHORTEST), key=len, reverse=True):
        shown = [word.replace(key, MASK) for word in shown]
    return shown
