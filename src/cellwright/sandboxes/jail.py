"""The plan of a jail: which interpreter and packages, which layers, and what the guest's root holds.

The host writes it as plain data; `cellwright_guest` carries it out. This module touches the file system only to look.
"""

from __future__ import annotations

import base64
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cellwright.errors import IsolationMissing, PlatformError
from cellwright.sandboxes import seccomp
from cellwright.sandboxes.base import Limits
from cellwright.sandboxes.guest_uid import guest_uid
from cellwright_guest import kernel

LAYERS = (
    *("user", "mount", "pid", "net", "ipc", "uts", "uid", "rlimits", "caps"),
    *("no_new_privs", "landlock", "seccomp", "cgroup"),
)
STANDARD = frozenset(LAYERS) - {"uts", "landlock", "cgroup"}
NAMESPACES = frozenset({"user", "mount", "pid", "net", "ipc", "uts"})
WITHOUT_NAMESPACES = STANDARD - NAMESPACES | {"landlock"}
LANDLOCK_ABI = 6  # that `WITHOUT_NAMESPACES` needs: the first that refuses signals to others, and abstract sockets
_FLOOR = {  # of each line one layer is in force wherever guest code runs
    ("mount", "landlock"): "the host's files and those of other guests",
    ("pid", "landlock", "seccomp"): "the memory of the host's processes",
    ("uid", "user", "caps"): "the rights of root",
}
INNER_UID = 1000
PROXY_PORT = 3128
CERTIFICATE = "/etc/cellwright/authority.pem"

# What agents' code usually imports: loaded once, shared by all children.
STDLIB = tuple(
    """
    abc array ast asyncio base64 bisect calendar cmath collections concurrent.futures.thread contextlib copy
    csv dataclasses datetime decimal difflib enum fractions functools glob hashlib heapq html inspect io
    itertools json linecache logging math multiprocessing.process numbers operator os pathlib pprint queue
    random re secrets shutil statistics string struct tempfile textwrap threading time traceback types typing
    unicodedata urllib.parse uuid warnings weakref zoneinfo
    """.split()
)
_LIBRARIES = ("/lib64", "/usr/lib64", "/lib/{}", "/usr/lib/{}", "/usr/local/lib/{}", "/lib/ld-musl-{}.so.1")
_DATA = ("/etc/ld.so.cache", "/usr/share/zoneinfo")
_PROGRAMS = ("/bin", "/sbin", "/lib", "/usr/bin", "/usr/lib", "/usr/libexec", "/usr/share", "/etc/alternatives")
# No /dev/zero: a shared mapping of it is memory that RLIMIT_DATA does not count.
_DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")
_MEMINFO = "".join(f"{name}: {1 << 20:>15} kB\n" for name in ("MemTotal", "MemFree", "MemAvailable"))
_TRUST = "SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE PIP_CERT GIT_SSL_CAINFO NODE_EXTRA_CA_CERTS".split()
_TMP = "size=64m,nr_inodes=4096,mode=1777"

RootEntry = tuple[str, str, str]  # kind, where in the guest's root, from where


@dataclass(frozen=True, kw_only=True)
class JailPlan:
    """What a zygote is made for. Equal plans share one zygote."""

    python: Path
    site: tuple[Path, ...] = ()
    preload: tuple[str, ...] = ()
    ask: tuple[str, ...] = ("numpy", "pandas", "polars", "pyarrow")  # top-level names to report when importable
    programs: bool = False  # subprocesses, and programs for them
    required: frozenset[str] = field(default=STANDARD)
    without: frozenset[str] = frozenset()  # layers not to use though the machine gives them
    network: bool = False  # each guest has a loopback of its own, with a listener of the host's
    probing: bool = False  # runs the probe's own trials and no guest code: layers may lack


def check_layers(plan: JailPlan, layers: frozenset[str], missing: dict[str, str]) -> None:
    """Raises `IsolationMissing` where a layer lacks that the plan requires, or that nobody can do without."""
    if plan.probing:
        return

    def reasons(names: Iterable[str]) -> str:
        return "; ".join(f"{name} ({missing.get(name, 'turned off')})" for name in names)

    if lacking := plan.required - layers - {"cgroup"}:
        raise IsolationMissing(
            f"this machine does not give: {reasons(sorted(lacking))}. `cellwright doctor` says how to add them"
            + _lower_rung(plan, lacking),
            sorted(lacking),
        )
    if plan.network and (lacking := {"mount", "net", "network"} - layers):
        raise IsolationMissing(f"this machine gives guests no network: {reasons(sorted(lacking))}", sorted(lacking))
    for names, guarded in _FLOOR.items():
        if layers.isdisjoint(names):
            raise IsolationMissing(
                f"nothing here would keep guest code from {guarded}, so none is run, whatever is required: "
                f"{reasons(names)}. `cellwright doctor` says how to add one"
            )
    if "uid" not in layers and (uid := guest_uid()) is not None:
        raise IsolationMissing(f"guests cannot become uid {uid}, which owns their workspaces: {reasons(['uid'])}")


def _lower_rung(plan: JailPlan, lacking: frozenset[str]) -> str:
    """What to ask for where the process rung is refused; guests that run programs have no other."""
    if plan.programs or lacking & WITHOUT_NAMESPACES or plan.without or kernel.landlock_abi() < LANDLOCK_ABI:
        return ""
    return '; a lower rung is there: sandbox="landlock", or CELLWRIGHT_SANDBOX=landlock (docs/sandboxes.md)'


@dataclass(frozen=True, kw_only=True)
class InterpreterPaths:
    """What an interpreter says of itself once it runs."""

    path: tuple[str, ...]
    base: str
    executable: str


def render(plan: JailPlan, interpreter: InterpreterPaths) -> dict[str, Any]:
    """The plan as the zygote reads it."""
    programs = base64.b64encode(seccomp.program(programs=True, network=plan.network)).decode()
    threads = base64.b64encode(seccomp.program(programs=False, network=plan.network)).decode()
    bare = base64.b64encode(seccomp.program(programs=False, bare=True)).decode()
    entries = _root(plan, interpreter)
    if "mount" not in plan.without:
        _check_places(plan, entries)
    shown = [source for kind, _, source in entries if kind == "bind"]
    hidden = [target for kind, target, _ in entries if kind == "empty"]
    return {
        "layers": [name for name in LAYERS if name not in plan.without] + (["network"] if plan.network else []),
        "network": {"port": PROXY_PORT, "certificate": CERTIFICATE} if plan.network else {},
        "root": entries,
        "landlock": {  # in a root of its own a guest may read all; otherwise what that root would have held
            "rooted": {"read": ["/"], "hidden": [], "device": ["/dev"]},
            "bare": {"read": shown, "hidden": hidden, "device": _DEVICES},
        },
        "seccomp": {"threads": threads, "bare": bare} | ({"programs": programs} if plan.programs else {}),
        "uid": -1 if (uid := guest_uid()) is None else uid,
        "inner_uid": INNER_UID,
        "count_nproc": _release() >= (5, 14),
        "tmp": _TMP,
        "environ": _environ(plan),
        "limits": asdict(Limits()),
        "site": {"rooted": _places(plan.site), "bare": [str(path) for path in plan.site]},
        "stdlib": STDLIB,
        "preload": plan.preload,
        "ask": plan.ask,
    }


def _environ(plan: JailPlan) -> dict[str, str]:
    environ = {"HOME": "/workspace", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
    if plan.network:
        proxy = f"http://127.0.0.1:{PROXY_PORT}"
        environ |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), proxy)
        environ |= dict.fromkeys(("NO_PROXY", "no_proxy"), "") | dict.fromkeys(_TRUST, CERTIFICATE)
        environ["NODE_USE_ENV_PROXY"] = "1"  # else node's fetch goes by no proxy
    return environ | ({"PATH": "/usr/local/bin:/usr/bin:/bin"} if plan.programs else {})


def _release() -> tuple[int, ...]:
    return tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2])


def _root(plan: JailPlan, interpreter: InterpreterPaths) -> list[RootEntry]:
    machine = platform.machine()
    multiarch = f"{machine}-linux-gnu"
    wanted = [path.format(machine if "musl" in path else multiarch) for path in _LIBRARIES]
    wanted += [*_DATA, *_interpreter_dirs(interpreter), *(_PROGRAMS if plan.programs else ())]
    entries = _Entries()
    for path in wanted:
        entries.show(path)
    for path in list(entries.shown):
        entries.mask_packages(path, keep={os.path.realpath(path) for path in plan.site})
    for path, place in zip(plan.site, _places(plan.site), strict=True):
        if place == str(path):
            entries.show(place)
        else:
            entries.add("bind", place, str(path))
    entries.add("dir", "/workspace")
    entries.add("dir", "/tmp")
    if plan.network:
        entries.add("dir", os.path.dirname(CERTIFICATE))
    entries.add("text", "/etc/passwd", f"guest:x:{INNER_UID}:{INNER_UID}::/workspace:/bin/sh\n")
    entries.add("text", "/etc/group", f"guest:x:{INNER_UID}:\n")
    # No /proc, but for two files: without them polars cannot tell where its stack ends, and maps one for every query
    entries.add("text", "/proc/meminfo", _MEMINFO)
    entries.add("stack", "/proc/self/maps")
    for path in _DEVICES:
        entries.add("device", path, path)
    if plan.programs:
        entries.add("link", "/dev/shm", "/tmp")  # for the named semaphores of multiprocessing
        entries.add("link", "/dev/fd", "/proc/self/fd")
    return entries.made


def _places(site: tuple[Path, ...]) -> list[str]:
    """Where the guest finds its packages: at their own paths, but for those that its own directories would cover."""
    covered = ("/tmp/", "/workspace/", "/dev/")
    return [f"/packages/{i}" if str(path).startswith(covered) else str(path) for i, path in enumerate(site)]


def _check_places(plan: JailPlan, entries: list[RootEntry]) -> None:
    """Raises `PlatformError` where the guest's own directories would cover its interpreter; /tmp alone need not."""
    for cover in ("/workspace", "/dev/shm") if plan.programs else ("/workspace",):
        for kind, target, _ in entries:
            if kind == "bind" and target.startswith(f"{cover}/"):
                raise PlatformError(
                    f"the Python {plan.python} needs {target}, but {cover} is the guest's own directory inside the "
                    "jail; use a Python that is installed elsewhere"
                )


def _interpreter_dirs(interpreter: InterpreterPaths) -> list[str]:
    """Standard library and own shared libraries; beside /usr a Python brings both below `lib`."""
    if interpreter.base == "/usr":
        return [path for path in interpreter.path if os.path.isdir(path)]
    return [f"{interpreter.base}/lib", f"{interpreter.base}/bin", *interpreter.path]


class _Entries:
    """Entries in the order they are made: parents first, symbolic links as they are on this machine."""

    def __init__(self) -> None:
        self.made: list[RootEntry] = []
        self.shown: list[str] = []
        self._targets: set[str] = set()

    def add(self, kind: str, target: str, source: str = "") -> None:
        if target not in self._targets:
            self._targets.add(target)
            self.made.append((kind, target, source))

    def show(self, path: str) -> None:
        """Binds `path` at the same place, by its real name, and makes again the links that lead to it."""
        if not os.path.exists(path):
            return
        parts = path.strip("/").split("/")
        for depth in range(1, len(parts) + 1):
            step = "/" + "/".join(parts[:depth])
            if os.path.islink(step):
                target = os.readlink(step)
                self._link(step, target)
                rest = "/".join(parts[depth:])
                self.show(os.path.normpath(os.path.join(os.path.dirname(step), target, rest)))
                return
        if not self._covered(path):
            self.shown.append(path)
            self.add("bind", path, path)

    def mask_packages(self, path: str, keep: set[str]) -> None:
        """The operator's own packages stay out: those of the guest are in `site`."""
        for parent in (Path(path), *Path(path).glob("python3*")):
            for name in ("site-packages", "dist-packages"):
                packages = parent / name
                if packages.is_dir() and not parent.is_symlink() and os.path.realpath(packages) not in keep:
                    self.add("empty", str(packages))

    def _link(self, path: str, target: str) -> None:
        if not self._covered(path):
            self.add("link", path, target)

    def _covered(self, path: str) -> bool:
        return any(path == shown or path.startswith(shown + "/") for shown in self.shown)
