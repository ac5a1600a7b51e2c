"""`PrivateNotes`: the tokens of a session in its journal, with their values, sealed with a key of this host.

Whoever has only the store, or an export, has tokens and no values. A note is sealed for its session, so that it means
nothing in another one.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from cellwright.errors import PlatformError, UsageError
from cellwright.guard.privacy import SessionPrivacy
from cellwright.guard.private_values import TOKEN, PrivateValue, PrivateValues
from cellwright.journal import History, JournalWriter, read_key
from cellwright.settings import install_command
from cellwright.store import Note, Store

_NONCE = 12


class PrivateNotes:
    """For one session. `key` None: this user can keep none, and so no private values either."""

    def __init__(self, session: str, key: bytes | None) -> None:
        if key is None:
            raise PlatformError(
                "private= with a store needs a state directory where a key can be kept: CELLWRIGHT_STATE"
            )
        self._session = session
        self._key = hmac.digest(key, b"private values", "sha256")
        self._cipher, self._wrong = _cipher(self._key)

    def secret(self, of_session: str) -> bytes:
        """What tokens are marked with: an export tells what the journal knows of a session, and not this."""
        return hmac.digest(self._key, of_session.encode(), "sha256")

    def keep(self, privacy: SessionPrivacy, writer: JournalWriter) -> None:
        """Write new tokens down, before the answer that brings them."""
        if not writer.can_write:
            return  # the session does not exist yet; they are written with the next
        unkept = privacy.values.take_unkept()
        if unkept:
            plain = json.dumps([[token, value.kind, value.tree, value.guessed] for token, value in unkept])
            nonce = os.urandom(_NONCE)
            sealed = self._cipher.encrypt(nonce, plain.encode(), self._session.encode())
            writer.soon(Note(kind="private", text=base64.b64encode(nonce + sealed).decode()))

    def recall(self, restore: Callable[[str, PrivateValue], None], journal: Store, history: History) -> None:
        """Tell what the journal has, also that of the sessions that this one was forked from."""
        for part in history.parts:
            for note in journal.notes(part.facts.id, part.entry):
                if note.kind == "private" and note.text:  # an import has the note, and not what is in it
                    for token, kind, tree, guessed in self._opened(note, part.facts.id):
                        restore(token, PrivateValue(kind, tree, guessed))

    def _opened(self, note: Note, session: str) -> list[tuple[str, str, Any, bool]]:
        raw = base64.b64decode(note.text)
        try:
            return json.loads(self._cipher.decrypt(raw[:_NONCE], raw[_NONCE:], session.encode()))
        except self._wrong:
            raise PlatformError(
                f"session {session!r} has private values that were sealed on another machine, or by another user; open "
                "it there, or copy checkpoints.key of that user's state directory to this one's"
            ) from None


def has_private_notes(journal: Store, history: History) -> bool:
    """Whether a session had private values in an earlier process."""
    return any(note.kind == "private" for part in history.parts for note in journal.notes(part.facts.id, part.entry))


def with_values(store: Store, session: str, text: str, directory: Path) -> str:
    """A text of a session for a person of this host: with the values of its private tokens, where they can be read.

    `directory` is where this user's key is.
    """
    if not TOKEN.search(text):
        return text
    values = PrivateValues(b"")
    with suppress(PlatformError):
        PrivateNotes(session, read_key(directory)).recall(values.restore, store, History(store, session))
    parts: list[str] = []
    done = 0
    for start, end, value in values.tokens_in(text):
        parts += [text[done:start], value.text]
        done = end
    return "".join([*parts, text[done:]])


def _cipher(key: bytes) -> tuple[Any, type[Exception]]:
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise UsageError(f"private= with a store needs cryptography: {install_command('privacy')}") from None
    return AESGCM(key), InvalidTag
