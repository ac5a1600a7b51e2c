"""A line between a store and its server that can be cut at a chosen moment, as a network does it."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path


class Line:
    """Carries what both say, from a socket of its own to the server's.

    `cut_after` a word that the store sends: the server gets it, and the store never hears the answer.
    """

    def __init__(self, server: Path, own: Path) -> None:
        self._server = server
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(own))
        self._listening.listen()
        self._word = b""
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []
        self.cuts = 0
        self._start(self._accept)

    def cut_after(self, word: bytes) -> None:
        self._word = word

    def close(self) -> None:
        for one in (self._listening, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join(20)

    def _start(self, run: object, *args: object) -> None:
        thread = threading.Thread(target=run, args=args, daemon=True)  # pyright: ignore[reportArgumentType] - of two kinds
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                store, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server))
                self._open += [store, server]
                deaf = threading.Event()
                self._start(self._carry, store, server, deaf)
                self._start(self._answer, server, store, deaf)

    def _carry(self, store: socket.socket, server: socket.socket, deaf: threading.Event) -> None:
        with suppress(OSError):
            while said := store.recv(1 << 16):
                if self._word and self._word in said:
                    self._word = b""
                    self.cuts += 1
                    deaf.set()
                server.sendall(said)
        with suppress(OSError):
            server.shutdown(socket.SHUT_WR)

    def _answer(self, server: socket.socket, store: socket.socket, deaf: threading.Event) -> None:
        with suppress(OSError):
            while said := server.recv(1 << 16):
                if deaf.is_set():  # it was done; whoever asked for it does not learn so
                    break
                store.sendall(said)
        for one in (store, server):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
