"""Guest code that makes calls and tells what each came to: the fixed part of a generated cell.

It is told in the guest, so that a result is seen as guest code sees it and one that cannot be told costs no other. What
it needs it imports by names with an underscore, which no name of a scope has: whatever the guest calls `json` or `list`
is not used here.
"""

from __future__ import annotations

FUNCTION = "__cellwright_direct__"
MOST = 1_000_000  # characters of one result that leave the guest
MODULES: tuple[str, ...] = ("asyncio", "builtins", "datetime", "decimal", "enum", "inspect", "json", "pathlib", "uuid")

# (fine, text, whether a live object is in it, characters left behind)
TELLING = f"""\
    _b = _builtins
    _as_text = (_decimal.Decimal, _uuid.UUID, _pathlib.PurePath, _datetime.timedelta)
    _as_iso = (_datetime.date, _datetime.time)

    def _plain(value, live):
        kind = _b.type(value)
        if value is None or kind in (_b.bool, _b.int, _b.float, _b.str):
            return value
        if _b.issubclass(kind, _enum.Enum):
            return _plain(value.value, live)
        if _b.issubclass(kind, _b.dict):
            return {{k if _b.type(k) is _b.str else _b.str(_plain(k, live)): _plain(v, live) for k, v in value.items()}}
        if _b.issubclass(kind, _b.tuple) and _b.hasattr(kind, "_fields"):
            return {{name: _plain(item, live) for name, item in _b.zip(kind._fields, value)}}
        if _b.issubclass(kind, (_b.list, _b.tuple, _b.set, _b.frozenset)):
            return [_plain(item, live) for item in value]
        if "__dataclass_fields__" in _b.vars(kind):
            return {{name: _plain(_b.getattr(value, name), live) for name in kind.__match_args__}}
        if _b.issubclass(kind, _as_iso):
            return value.isoformat()
        if _b.issubclass(kind, _as_text):
            return _b.str(value)
        if kind is _b.bytes:
            return value.decode("utf-8", "backslashreplace")
        live.append(kind)
        return _b.repr(value)

    def _words(error):
        try:
            return _b.type(error).__name__ + ": " + _b.str(error)
        except _b.BaseException:
            return _b.type(error).__name__

    def _text(value, live):
        try:
            plain = _plain(value, live)
            if _b.type(plain) is _b.str:
                return plain
            return _json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        except _b.BaseException:
            return _b.repr(value)

    async def _settled(call):
        fine, live = True, []
        try:
            value = call()
            if _inspect.isawaitable(value):
                value = await value
        except _b.BaseException as error:
            fine, text = False, _words(error)
        else:
            try:
                text = _text(value, live)
            except _b.BaseException as error:
                text = "It was called; what it gave cannot be shown (" + _words(error) + ")."
        return fine, text[:{MOST}], _b.bool(live), _b.max(0, _b.len(text) - {MOST})

"""
