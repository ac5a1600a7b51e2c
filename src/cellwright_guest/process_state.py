"""The state of the guest's process besides its names: directory, environment, `/tmp`, settings of libraries, modules.

`kept` gives it as plain data, for `restore` in another guest; `missing` names what cannot be kept so. It knows a few
libraries by name, and looks at them only where they are loaded.
"""

from __future__ import annotations

import builtins
import decimal
import importlib
import logging
import os
import stat
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from typing import Any

from cellwright_guest import workspace_name

TMP = "/tmp"
TMP_BYTES, TMP_FILES = 8 << 20, 500
_PLAIN = (str, int, float, bytes, bool, type(None), tuple)
_OWN = ("cellwright_guest", "__main__")
_SETTLED = frozenset({"sys.stdout", "sys.stderr", "sys.modules", "sys.path", "mimetypes.inited", "mimetypes.types_map"})

# path, mode, times of access and change, content: of a link where it leads, of a directory None
File = tuple[str, int, tuple[int, int], bytes | str | None]

_modules: dict[str, dict[str, Any]] = {}
_settings: dict[str, Any] = {}


def note() -> None:
    """In the zygote, when everything is loaded: record the state in which every session begins."""
    for name, module in list(sys.modules.items()):
        if type(module) is types.ModuleType and not name.startswith(_OWN):
            _modules[name] = {key: value for key, value in module.__dict__.items() if _is_constant(key, value)}
    _settings.update(_libraries(), environ=dict(os.environ), path=list(sys.path))


def kept() -> dict[str, Any]:
    """What is not as it was at the beginning."""
    now = _libraries() | {"environ": dict(os.environ), "path": list(sys.path)}
    changed = {name: value for name, value in now.items() if value != _settings.get(name)}
    return changed | {"cwd": _cwd(), "tmp": _files() or []}


def restore(kept: dict[str, Any]) -> None:
    _place(kept.pop("tmp"))
    try:
        os.chdir(kept.pop("cwd"))
    except OSError:  # gone from the workspace: as when a guest is moved from its scratch
        os.chdir(os.environ.get("HOME", "/"))
    for name, value in kept.items():
        _RESTORE[name](value)


def missing(names: dict[str, Any]) -> list[str]:
    """What `restore` would not bring back, in words. Of modules those are looked at that the names lead to."""
    lost = [f"{name}, which was changed" for name in _changed_modules(names)]
    lost += [f"module {name}, which is from the workspace" for name in _own_modules()]
    if len(threading.__dict__["_active"]) > 1:
        lost.append("a thread that is still running")
    if _files() is None:
        lost.append("the files in /tmp")
    if any(type(handler) is not logging.NullHandler for logger in _loggers() for handler in logger.handlers):
        lost.append("the handlers of logging")
    return lost


# modules


def _changed_modules(names: dict[str, Any]) -> Iterator[str]:
    for module in _within_reach(names):
        name, before = module.__name__, _modules.get(module.__name__)
        for key, value in list(module.__dict__.items()):
            if _is_change(key, value, before) and f"{name}.{key}" not in _SETTLED:
                yield f"{name}.{key}"


def _within_reach(names: dict[str, Any]) -> list[types.ModuleType]:
    """The modules that the names lead to, and those below them. Looking at all would copy the zygote's memory."""
    named = {name: module for name, module in _modules_of(names) if not name.startswith(_OWN)}
    below: dict[str, types.ModuleType] = {}
    for name, module in named.items():
        below.update(item for item in _modules_of(module.__dict__) if item[0].startswith(f"{name}."))
    return [builtins, *(named | below).values()]


def _modules_of(names: dict[str, Any]) -> list[tuple[str, types.ModuleType]]:
    return [(value.__name__, value) for value in list(names.values()) if type(value) is types.ModuleType]


def _is_change(key: str, value: Any, before: dict[str, Any] | None) -> bool:
    """Whether code of the session set it. Modules set some values late themselves, mostly in private names."""
    if isinstance(value, (type, types.FunctionType)) and value.__module__ == "__main__":
        return True
    if before is None or not _is_constant(key, value):
        return False
    was = before.get(key, before)
    return was is not value and was != value


def _is_constant(key: str, value: Any) -> bool:
    return key[:1] != "_" and type(value) in _PLAIN


def _own_modules() -> Iterator[str]:
    """The modules whose files the guest can write. The interpreter and this package may be below /tmp too."""
    places = tuple(os.path.join(place, "") for place in workspace_name.own_places())
    given = tuple(os.path.join(place, "") for place in _settings.get("path", ()))
    for name, module in list(sys.modules.items()):
        known = name in _modules or name.partition(".")[0] in _OWN
        file = None if known else getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith(places) and not file.startswith(given):
            yield name


# settings


def _libraries() -> dict[str, Any]:
    """The settings that people change, of the libraries that are loaded."""
    context = decimal.getcontext()
    settings: dict[str, Any] = {
        "recursion": sys.getrecursionlimit(),
        "umask": _umask(),
        "decimal": context.__reduce__()[1],
        "warnings": list(warnings.filters),
        "logging": [(log.name, log.level, log.propagate, log.disabled) for log in _loggers()],
        "disabled": logging.root.manager.disable,
    }
    if "numpy" in sys.modules:
        numpy = importlib.import_module("numpy")
        settings |= {"numpy.print": numpy.get_printoptions(), "numpy.errors": numpy.geterr()}
    if "pandas" in sys.modules:
        settings["pandas"] = dict(_pandas_options(importlib.import_module("pandas._config.config")))
    return settings


def _pandas_options(config: Any) -> Iterator[tuple[str, Any]]:
    """Those that are not as usual."""
    for name, option in config.__dict__["_registered_options"].items():
        value = config.get_option(name)
        if value is not option.defval and value != option.defval:
            yield name, value


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _loggers() -> list[logging.Logger]:
    loggers = logging.root.manager.loggerDict.values()
    return [logging.root, *(logger for logger in loggers if isinstance(logger, logging.Logger))]


def _restore_logging(levels: list[tuple[str, int, bool, bool]]) -> None:
    for name, level, propagate, disabled in levels:
        logger = logging.getLogger(None if name == "root" else name)
        logger.setLevel(level)
        logger.propagate, logger.disabled = propagate, disabled


def _restore_decimal(parts: tuple[Any, ...]) -> None:
    decimal.setcontext(decimal.Context(*parts))


def _restore_numpy_print(options: dict[str, Any]) -> None:
    importlib.import_module("numpy").set_printoptions(**options)


def _restore_numpy_errors(options: dict[str, Any]) -> None:
    importlib.import_module("numpy").seterr(**options)


def _restore_warnings(filters: list[Any]) -> None:
    warnings.__dict__["filters"][:] = filters
    warnings.__dict__["_filters_mutated"]()


def _restore_environ(environ: dict[str, str]) -> None:
    for name in [name for name in os.environ if name not in environ]:
        del os.environ[name]
    os.environ.update(environ)


def _restore_path(path: list[str]) -> None:
    sys.path[:] = path


def _restore_pandas(options: dict[str, Any]) -> None:
    pandas: Any = importlib.import_module("pandas")
    for name, value in options.items():
        pandas.set_option(name, value)


_RESTORE: dict[str, Any] = {
    "recursion": sys.setrecursionlimit,
    "umask": os.umask,
    "decimal": _restore_decimal,
    "warnings": _restore_warnings,
    "logging": _restore_logging,
    "disabled": logging.disable,
    "environ": _restore_environ,
    "path": _restore_path,
    "numpy.print": _restore_numpy_print,
    "numpy.errors": _restore_numpy_errors,
    "pandas": _restore_pandas,
}


# files


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.environ.get("HOME", "/")


def _files() -> list[File] | None:
    """The files in /tmp, directories before what is in them. None: too much, or something that is no file."""
    files: list[File] = []
    size = 0
    if TMP not in workspace_name.own_places():
        return files
    try:
        device = os.lstat(TMP).st_dev
        for directory, below, names in os.walk(TMP):
            for name in (*below, *names):
                path = os.path.join(directory, name)
                about = os.lstat(path)
                if about.st_dev != device:  # the interpreter, mounted here because it is installed below /tmp
                    below[:] = [other for other in below if other != name]
                    continue
                size += about.st_size if stat.S_ISREG(about.st_mode) else 0
                if size > TMP_BYTES or len(files) >= TMP_FILES:
                    return None
                times = about.st_atime_ns, about.st_mtime_ns
                files.append((path, about.st_mode, times, _content(path, about.st_mode)))
    except (OSError, ValueError):
        return None
    return files


def _content(path: str, mode: int) -> bytes | str | None:
    if stat.S_ISDIR(mode):
        return None
    if stat.S_ISLNK(mode):
        return os.readlink(path)
    if not stat.S_ISREG(mode):
        raise ValueError("neither a file nor a directory nor a link")
    with open(path, "rb") as file:
        return file.read()


def _place(files: list[File]) -> None:
    for path, _, _, content in files:
        if content is None:
            os.makedirs(path, exist_ok=True)
        elif isinstance(content, str):
            if not os.path.islink(path):  # a link to the interpreter is there already
                os.symlink(content, path)
        else:
            with open(path, "wb") as file:
                file.write(content)
    for path, mode, times, content in reversed(files):  # what is inside first: it may be closed by its mode
        if not isinstance(content, str):
            os.chmod(path, stat.S_IMODE(mode))
            os.utime(path, ns=times)
