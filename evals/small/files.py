"""Files in the workspace, which code opens. There is nothing to call."""

from __future__ import annotations

import json

from evals.small.checks import equals, state
from evals.small.task import Trial, task

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
    code_only=True,
)
def csv_sum() -> Trial:
    return Trial(scope={}, files={"sales.csv": SALES}, check=equals(890))


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
    code_only=True,
)
def json_keys() -> Trial:
    return Trial(scope={}, files={"settings.json": json.dumps(SETTINGS, indent=2)}, check=equals(["search", "share"]))


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
    code_only=True,
)
def clean_names() -> Trial:
    files = {"names.txt": NAMES}
    made = state(
        "clean.txt", lambda: files.get("clean.txt", "").rstrip("\n").split("\n"), ["Amund", "Kari", "Solveig", "Turid"]
    )
    return Trial(scope={}, files=files, makes=("clean.txt",), check=made)


TASKS = (csv_sum, json_keys, clean_names)
