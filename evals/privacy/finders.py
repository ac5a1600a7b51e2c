"""A program for the environment that has Faker, Presidio and spaCy: makes records, prints what each finder finds.

python finders.py COUNT SEED MODEL    one JSON object on standard output
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cellwright.guard.private_names import SpacyNames
from cellwright.guard.private_text import PrivateText
from evals.privacy.people_records import records

ENTITIES = {
    "EMAIL_ADDRESS": "email", "PHONE_NUMBER": "phone", "CREDIT_CARD": "card", "IBAN_CODE": "iban", "IP_ADDRESS": "ip",
    "PERSON": "name", "LOCATION": "address", "UK_POSTCODE": "address", "CA_POSTAL_CODE": "address",
    "DATE_TIME": "birth_date",    "US_NPI": "npi",
} | dict.fromkeys(
    "US_SSN US_ITIN UK_NINO UK_NHS CA_SIN ES_NIF ES_NIE IT_FISCAL_CODE PL_PESEL SE_PERSONNUMMER "
    "FI_PERSONAL_IDENTITY_CODE "
    "IN_AADHAAR IN_PAN DE_TAX_ID".split(),
    "national_id",
)  # fmt: skip
# of other languages' lists, for the ids in the records
MORE = (
    "EsNie EsNif ItFiscalCode PlPesel SePersonnummer FiPersonalIdentityCode InAadhaar InPan CaSin DeTaxId UkNino Nhs "
    "UsNpi UkPostcode CaPostalCode"
)
SCORES = (0.0, 0.35, 0.5)  # thresholds, of which the page shows the best
Found = list[tuple[int, int, str, float]]


def ours(names: SpacyNames | None) -> Callable[[str], Found]:
    text = PrivateText(names=names)
    return lambda given: [(span.start, span.end, span.kind, 1.0) for span in text.spans(given)]


def presidio(model: Path | None) -> Callable[[str], Found]:
    """Presidio with this model of spaCy, or with a blank one; its public-suffix list is the one in the package."""
    extract: Any = import_module("tldextract")
    extract.extract = extract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    spacy: Any = import_module("spacy")
    analyzer: Any = import_module("presidio_analyzer")
    engines: Any = import_module("presidio_analyzer.nlp_engine")
    kinds: Any = import_module("presidio_analyzer.predefined_recognizers")
    engine = engines.SpacyNlpEngine(models=[{"lang_code": "en", "model_name": str(model)}])
    engine.nlp = {"en": spacy.load(model) if model else spacy.blank("en")}
    registry = analyzer.RecognizerRegistry(supported_languages=["en"])
    registry.load_predefined_recognizers(languages=["en"], nlp_engine=engine)
    there = {type(each).__name__ for each in registry.recognizers}
    for name in MORE.split():
        if f"{name}Recognizer" not in there:
            registry.add_recognizer(getattr(kinds, f"{name}Recognizer")(supported_language="en"))
    whole = analyzer.AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])
    known = [entity for entity in ENTITIES if entity in whole.get_supported_entities("en")]

    def find(given: str) -> Found:
        results = whole.analyze(given, language="en", entities=known)
        return [(each.start, each.end, ENTITIES[each.entity_type], each.score) for each in results]

    return find


def timed(find: Callable[[str], Found], texts: Sequence[str]) -> tuple[list[Found], float]:
    find(texts[0])  # loads what is loaded at the first use
    began = time.process_time()
    return [find(text) for text in texts], time.process_time() - began


def main() -> None:
    logging.disable(logging.WARNING)
    count, seed, model = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    made = list(records(count, seed))
    texts = [record.text for record in made]
    finders: dict[str, tuple[Callable[[str], Found], Sequence[float]]] = {
        "ours": (ours(None), (0.0,)),
        "ours with names": (ours(SpacyNames(model)), (0.0,)),
        "Presidio": (presidio(model), SCORES),
        "Presidio, blank model": (presidio(None), SCORES),
    }
    found: dict[str, Any] = {}
    for name, (find, thresholds) in finders.items():
        spans, seconds = timed(find, texts)
        for least in thresholds:
            title = f"{name} {least:g}" if len(thresholds) > 1 else name
            found[title] = {
                "spans": [[each[:3] for each in of if each[3] >= least] for of in spans],
                "seconds": seconds,
            }
    versions = {name: version(name) for name in ("presidio-analyzer", "spacy", "faker")}
    print(json.dumps({"records": [asdict(record) for record in made], "found": found, "versions": versions}))


if __name__ == "__main__":
    main()
