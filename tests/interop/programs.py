"""Programs that a test starts: waited for by what they say, bounded in time, ended by their own pid."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

START_S, END_S = 90, 10


class Program:
    """A running program. `said` is what it has written so far, both streams. `ready` is waited for, where given."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        ready: str = "",
    ) -> None:
        self.said = ""
        self._news = threading.Condition()
        self._ended = False
        self._name = Path(command[0]).name
        self._process = subprocess.Popen(
            command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if ready:
            try:
                self.until(ready)
            except BaseException:
                self.close()
                raise

    def until(self, pattern: str, timeout_s: float = START_S) -> re.Match[str]:
        """Waits until the program has said this; a program that ends or is silent fails the test."""
        with self._news:
            self._news.wait_for(lambda: self._ended or re.search(pattern, self.said) is not None, timeout_s)
            found = re.search(pattern, self.said)
        if found is None:
            why = f"ended with {self._process.poll()}" if self._ended else f"did not say {pattern!r} in {timeout_s} s"
            pytest.fail(f"{self._name} {why}: {self.said[-1000:]}")
        return found

    def until_said(self, words: str, times: int, timeout_s: float = START_S) -> list[str]:
        """Waits until so many lines have these words; gives them."""

        def lines() -> list[str]:
            return [line for line in self.said[: self.said.rfind("\n") + 1].splitlines() if words in line]

        with self._news:
            self._news.wait_for(lambda: self._ended or self.said.count(words) >= times <= len(lines()), timeout_s)
        if len(found := lines()) < times:
            pytest.fail(f"{self._name} said {words!r} {len(found)} times, not {times}")
        return found

    def listens(self, port: int, timeout_s: float = START_S) -> None:
        """Waits until the program accepts connections there."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until and not self._ended:
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=1).close()
            except OSError:
                with self._news:
                    self._news.wait_for(lambda: self._ended, 0.05)
        pytest.fail(f"{self._name} does not listen on port {port} after {timeout_s} s: {self.said[-1000:]}")

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(END_S)
        self._reader.join(END_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            while piece := os.read(stream.fileno(), 65536):
                with self._news:
                    self.said += piece.decode(errors="replace")
                    self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()


def finished(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout_s: float = 120,
) -> tuple[int, str, str]:
    """Runs a program to its end: its exit code and its two streams."""
    try:
        done = subprocess.run(
            command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=timeout_s, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as slow:
        told = slow.stdout.decode(errors="replace") if slow.stdout else ""
        pytest.fail(f"{Path(command[0]).name} took longer than {timeout_s} s: {told[-1000:]}")
    return done.returncode, done.stdout, done.stderr


def free_port() -> int:
    """A port of the loopback that is free now; for programs that cannot choose one themselves."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
