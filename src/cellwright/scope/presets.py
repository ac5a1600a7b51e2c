"""What is hidden by default: the credentials of common libraries, and their ways to run code on the host.

A preset is a row of this table: members of a type, matched by the module and the name of any class among its bases.
`scope.declare("client.headers", hide=False)` shows one again.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any

from cellwright.scope.weak_cache import weak_cache
from cellwright_guest.wire import type_of

# attributes (never methods) that carry a credential in objects of any type
CREDENTIALS = frozenset(
    "api_key apikey api_token access_key access_token auth auth_token authorization aws_access_key_id "
    "aws_secret_access_key aws_session_token bearer_token client_secret connection_string cookies credential "
    "credentials id_token passphrase passwd password private_key pwd refresh_token secret secret_key secrets "
    "session_token signing_key ssh_key token webhook_secret".split()
)

_HTTP = "headers auth cookies params cert verify trust_env proxies event_hooks build_request send transport adapters"
HIDDEN: dict[str, str] = {
    "httpx.Client": f"{_HTTP} base_url",
    "httpx.AsyncClient": f"{_HTTP} base_url",
    "httpx.BaseClient": f"{_HTTP} base_url",
    "httpx.Response": "request stream extensions next_request history",
    "httpx.HTTPError": "request response",
    "httpx.RequestError": "request",
    "httpx.HTTPStatusError": "request response",
    "requests.Session": f"{_HTTP} get_adapter mount prepare_request hooks",
    "requests.Response": "request connection raw history",
    "requests.RequestException": "request response",
    "aiohttp.ClientSession": f"{_HTTP} cookie_jar connector",
    "aiohttp.ClientResponse": "request_info connection",
    "urllib3.*": "headers proxy_headers",
    "sqlalchemy.Engine": "url engine dialect pool raw_connection driver execution_options",
    "sqlalchemy.AsyncEngine": "url sync_engine dialect pool raw_connection",
    "sqlalchemy.Connection": "engine connection dialect get_raw_connection",
    "sqlalchemy.Session": "bind bind_mapper bind_table get_bind connection",
    "sqlalchemy.DBAPIError": "orig connection_invalidated",
    "sqlite3.Connection": "enable_load_extension load_extension set_authorizer setconfig deserialize",
    "psycopg.*Connection": "info pgconn",
    "psycopg2.connection": "info dsn get_dsn_parameters pgconn_ptr",
    "asyncpg.Connection": "get_settings",
    "pymongo.*": "options address nodes",
    "redis.*": "connection_pool connection get_connection_kwargs",
    "botocore.*": "meta",
    "boto3.*": "meta get_credentials",
    "openai.*": "auth_headers default_headers custom_auth with_options copy organization project webhook_secret",
    "anthropic.*": "auth_headers default_headers custom_auth with_options copy",
    "paramiko.*": "get_transport",
    "pandas.*": "eval query to_pickle to_csv to_excel to_parquet to_feather to_hdf to_sql to_stata to_orc to_clipboard "
    "to_html to_latex to_markdown to_xml to_json to_gbq to_string to_iceberg to_typst attrs flags pipe",
    "polars.*": "write_* sink_* serialize deserialize sql lazy_sql show_graph",
    "pyarrow.*": "to_pandas_dtype",
    "pydantic.*Secret*": "get_secret_value",
    "logging.Logger": "manager handlers root parent",
    "subprocess.Popen": "args",
    "asyncio.*": "get_loop",
    "functools.partial": "func args keywords",
}
_TABLE = [(pattern, frozenset(names.split())) for pattern, names in HIDDEN.items()]

# methods of a `Revivable` that are for the journal alone
JOURNAL = ("to_journal", "from_journal")

# methods that look up a member by a name in their arguments: they must not find what is hidden
BY_NAME = {"pandas": frozenset(("agg", "aggregate", "apply", "transform", "map", "applymap", "pipe", "pivot_table"))}

_NUMBERS = "biufcmM"  # numpy's kinds of data that hold no names: numbers and times
_LISTS: tuple[type[Any], ...] = (list, tuple, set, frozenset)

# types that never cross: from each of these, code can reach the whole host
NEVER: tuple[type, ...] = (types.FrameType, types.CodeType, types.TracebackType, types.CellType)


@weak_cache
def hidden_names(kind: type) -> tuple[str, ...]:
    """The patterns of member names that presets hide on objects of this type."""
    hidden = {*JOURNAL} if all(hasattr(kind, name) for name in JOURNAL) else set[str]()
    for base in kind.__mro__:
        top = base.__module__.partition(".")[0].lstrip("_")
        for pattern, names in _TABLE:
            module, _, name = pattern.partition(".")
            if module == top and fnmatchcase(base.__name__, name):
                hidden |= names
    return tuple(sorted(hidden))


def looks_up_by_name(kind: type, method: object) -> bool:
    """Whether a method of this type calls members by names in its arguments."""
    return type_of(method) is str and method in _by_name(kind)


def refused_argument(hidden: Callable[[str], bool], arguments: Iterable[Any]) -> str | None:
    """A string among the arguments of a by-name method that names a hidden or private member."""
    pending = list(arguments)
    seen: set[int] = set()  # a guest's list may hold itself
    kept: list[Any] = []  # an id is only good while its object lives
    while pending:
        value: Any = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        kind_of_value = type_of(value)
        if issubclass(kind_of_value, str):
            if value.startswith("_") or hidden(value):
                return value[:100]
        elif issubclass(kind_of_value, dict):
            pending.extend(value.values())
        elif issubclass(kind_of_value, _LISTS):
            pending.extend(value)
        elif hasattr(kind_of_value, "tolist") and getattr(value, "shape", None):
            if getattr(getattr(value, "dtype", None), "kind", "O") not in _NUMBERS:
                kept.append(value.tolist())
                pending.append(kept[-1])
        elif hasattr(kind_of_value, "__iter__") and not issubclass(kind_of_value, bytes):
            return f"<what a {kind_of_value.__name__} names>"  # the guest may decide what it gives
    return None


@weak_cache
def _by_name(kind: type) -> frozenset[str]:
    """The by-name methods of a type, its own or a base's."""
    tops = {base.__module__.partition(".")[0] for base in kind.__mro__}
    return frozenset[str]().union(*(BY_NAME.get(top, ()) for top in tops))


def hides(kind: type, name: str) -> bool:
    """Whether a preset hides the member `name` of objects of this type."""
    return any(fnmatchcase(name, pattern) for pattern in hidden_names(kind))
