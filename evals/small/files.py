"""Files in the workspace: code opens them, and single calls go through `files`."""

from __future__ import annotations

import json
import os
from pathlib import Path

from evals.small.checks import equals, state
from evals.small.task import Trial, acting, reading, task

SALES = """date,region,product,amount
2025-01-03,north,lamp,120
2025-01-04,south,chair,340
2025-01-09,north,table,560
2025-01-15,west,lamp,80
2025-01-20,south,lamp,95
2025-01-28,north,chair,210
"""
SETTINGS = {"name": "planner", "version": "2.4.1", "features": {"export": False, "search": True, "share": True}}
NAMES = "Turid\nAmund\n\nSolveig\nAmund\n  Kari\n"


def _plainly(path: str, flags: int) -> int:
    # The guest owns the directory: a link or a pipe that it put there must not lead the host astray.
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)


def get(place: Path, name: str) -> str:
    with open(place / Path(name).name, encoding="utf-8", opener=_plainly) as file:
        return file.read()


def put(place: Path, name: str, text: str) -> None:
    owner = place.stat()
    with open(place / Path(name).name, "w", encoding="utf-8", opener=_plainly) as file:
        os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        file.write(text)


class Files:
    """The files of the workspace, which is the current directory."""

    def __init__(self, place: Path) -> None:
        self._place = place

    @reading
    def read(self, name: str) -> str:
        """The text of a file."""
        return get(self._place, name)

    @acting
    def write(self, name: str, text: str) -> None:
        """Make a file with this text, or replace what it has."""
        put(self._place, name, text)


@task(
    id="files-csv-sum",
    prompt="""The file sales.csv in the workspace has the columns date, region, product and amount. What do the
        amounts of the region north add up to?""",
    returns=int,
    tags="files aggregate",
    solution="""
import csv
with open("sales.csv") as file:
    done(sum(int(row["amount"]) for row in csv.DictReader(file) if row["region"] == "north"))
""",
    wrong=("import csv\ndone(sum(int(row['amount']) for row in csv.DictReader(open('sales.csv'))))",),
)
def csv_sum(place: Path) -> Trial:
    put(place, "sales.csv", SALES)
    return Trial(scope={"files": Files(place)}, check=equals(890))


@task(
    id="files-json-keys",
    prompt="""The file settings.json in the workspace is a JSON object whose "features" are on or off. Which features
        are on? Give their names in alphabetical order.""",
    returns=list[str],
    tags="files transform",
    solution="""
import json
with open("settings.json") as file:
    features = json.load(file)["features"]
done(sorted(name for name, on in features.items() if on))
""",
    wrong=("import json\ndone(sorted(json.load(open('settings.json'))['features']))",),
)
def json_keys(place: Path) -> Trial:
    put(place, "settings.json", json.dumps(SETTINGS, indent=2))
    return Trial(scope={"files": Files(place)}, check=equals(["search", "share"]))


@task(
    id="files-clean-names",
    prompt="""The file names.txt in the workspace has one name on each line. Write the names to a new file clean.txt,
        one on each line, in alphabetical order, each name only once, without empty lines and without spaces
        around the names.""",
    returns=None,
    tags="files transform effect",
    solution="""
with open("names.txt") as file:
    names = sorted({line.strip() for line in file if line.strip()})
with open("clean.txt", "w") as file:
    file.write("\\n".join(names) + "\\n")
done(None)
""",
    wrong=("open('clean.txt', 'w').write(''.join(sorted(open('names.txt'))))\ndone(None)", "done(None)"),
)
def clean_names(place: Path) -> Trial:
    put(place, "names.txt", NAMES)

    def lines() -> list[str] | None:
        try:
            return get(place, "clean.txt").rstrip("\n").split("\n")
        except OSError:
            return None

    return Trial(scope={"files": Files(place)}, check=state("clean.txt", lines, ["Amund", "Kari", "Solveig", "Turid"]))


TASKS = (csv_sum, json_keys, clean_names)
