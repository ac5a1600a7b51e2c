"""How what is found in records is counted and told, without Presidio and Faker."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from evals.privacy.__main__ import report
from evals.privacy.people_records import Fields, filled
from evals.privacy.privacy_page import BEGIN, END, markdown, rewrite
from evals.privacy.scores import ALL, score

RECORD = {
    "text": "Ann Lee, ann@lee.example",
    "truths": [{"start": 0, "end": 7, "kind": "name"}, {"start": 9, "end": 24, "kind": "email"}],
}


def spans(*each: tuple[int, int, str]) -> dict[str, Any]:
    return {"spans": [list(each)], "seconds": 1.0}


def test_a_value_counts_as_found_if_more_than_half_of_it_is_held_by_its_kind() -> None:
    half = score("a", spans((0, 3, "name"), (9, 24, "email")), [RECORD], ())
    most = score("a", spans((0, 4, "name"), (9, 24, "phone")), [RECORD], ())
    assert (half.recall("name"), half.recall("email"), half.recall(ALL)) == (0, 1, 0.5)
    assert (most.recall("name"), most.recall("email"), most.covering("email"), most.covering("name")) == (1, 0, 1, 0)


def test_a_span_is_wrong_if_most_of_it_is_no_value_of_its_kind() -> None:
    assert score("a", spans((0, 24, "name")), [RECORD], ()).precision("name") == 0
    assert score("a", spans((0, 8, "name"), (0, 2, "address")), [RECORD], ()).precision(ALL) == 0.5
    assert score("a", spans((0, 8, "name"), (0, 2, "address")), [RECORD], ("address",)).precision(ALL) == 1
    assert score("a", spans(), [RECORD], ()).precision(ALL) is None


def test_the_page_tells_the_best_threshold_and_where_the_other_is_better(tmp_path: Path) -> None:
    found = {
        "ours": spans((9, 24, "email")),
        "ours with names": spans((9, 24, "email")),
        "Presidio 0": spans((0, 7, "name"), (9, 24, "email"), (3, 5, "phone")),
        "Presidio 0.5": spans((0, 7, "name"), (9, 24, "email")),
    }
    versions = {"faker": "1", "presidio-analyzer": "2", "spacy": "3"}
    made = report({"records": [RECORD | {"unseen": True}], "found": found, "versions": versions})
    assert [(each.name, each.f1) for each in made.scores] == [
        ("ours", 2 / 3),
        ("ours with names", 2 / 3),
        ("Presidio", 1),
    ]
    assert "Presidio finds more of: name; is more precise on: name." in markdown(made)
    page = tmp_path / "privacy.md"
    page.write_text(f"{BEGIN}\n\n{END}\n")
    rewrite(page, made)
    assert "| **all** | 2 | 100.0 / 50.0 | 100.0 / 50.0 | 100.0 / 100.0 |" in page.read_text()


def test_a_template_becomes_a_text_whose_values_are_known() -> None:
    fields = Fields(None, "en_US", random.Random(1))
    record = filled("<<ssn>> of <<no_date>>, <<id_label>>: <<npi>>", fields, unseen=False, locale="en_US")
    assert [(truth.kind, len(record.text[truth.start : truth.end])) for truth in record.truths] == [
        ("national_id", 11),
        ("npi", 10),
    ]
    assert ", SSN: " in record.text
