"""Names by a model of spaCy, without spaCy: which of what it finds is a name, and what is said where it is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cellwright.errors import ModelMissing, UsageError
from cellwright.guard import private_names
from cellwright.guard.private_names import SpacyNames


class Spacy:
    """Takes each of some texts for a person, wherever it stands, and keeps how long the pieces were."""

    def __init__(self, *people: str) -> None:
        self.people = people
        self.lengths: list[int] = []

    def imported(self, name: str, extra: str) -> Spacy:
        return self

    def load(self, model: Path, exclude: list[str]) -> Any:
        return self.read

    def read(self, text: str) -> Any:
        self.lengths.append(len(text))
        found = [(at, at + len(name)) for name in self.people if (at := text.find(name)) >= 0]
        return SimpleNamespace(ents=[SimpleNamespace(start_char=a, end_char=b, label_="PERSON") for a, b in found])


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "config.cfg").touch()
    return tmp_path


def found(text: str, spacy: Spacy, model: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(private_names, "library", spacy.imported)
    return [text[start:end] for start, end in SpacyNames(model).names(text)]


def test_names_are_cleaned_of_lines_marks_and_parts_of_codes(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spacy = Spacy("Ann Lee's", "Bo Ek\nOslo", "rc", "full", "Jean-Luc ")
    text = "Ann Lee's dog; Bo Ek\nOslo; v1-rc1; full_name='x'; Jean-Luc went"
    assert found(text, spacy, model, monkeypatch) == ["Ann Lee", "Bo Ek", "Oslo", "Jean-Luc"]


def test_a_long_text_is_read_in_pieces_that_end_between_sentences(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spacy = Spacy("Zed Ora")
    text = "Nothing is here. " * 1_000 + "Zed Ora came."
    assert found(text, spacy, model, monkeypatch) == ["Zed Ora"]
    assert max(spacy.lengths) <= 8_000 < sum(spacy.lengths) == len(text)


def test_a_missing_model_is_one_line_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_names, "library", Spacy().imported)
    with pytest.raises(ModelMissing, match=r"cellwright models pull names\Z"):
        SpacyNames(tmp_path).names("Ann Lee")


def test_a_missing_package_is_one_line_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(UsageError, match=r"spacy: pip install .*names\]'"):
        SpacyNames().names("Ann Lee")
