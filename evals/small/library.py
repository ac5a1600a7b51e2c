"""Toy documents: texts that have to be read to be known."""

from __future__ import annotations

from evals.small.checks import equals
from evals.small.task import Trial, reading, task

FILLER = (
    "The morning was quiet and the road was dry. We packed the bags, counted them twice and set out before the heat. "
    "Nobody spoke much until the first village, where there was bread and strong tea. "
)
TEXTS = {
    "Two weeks by train": f"# Two weeks by train\n\n## Leaving\n\n{FILLER * 3}\n\n## Osaka to Kyoto\n\n{FILLER}"
    f"In Kyoto it rained for two days.\n\n## The way home\n\n{FILLER * 2}\n",
    "Meeting notes": "# Meeting notes\n\nPresent: Ann, Bo, Cem.\n\nTODO: Bo sends the offer to the printer\n"
    "We agreed on the blue cover.\nTODO: Ann books the hall\n\nCem will be away in June.\n"
    "TODO: Cem hands over the keys\n",
    "Bread for beginners": f"# Bread for beginners\n\n## Flour\n\n{FILLER}\n\n## Time\n\nWait. Then wait again.\n",
    "A year in three cities": f"# A year in three cities\n\n{FILLER * 8}\n\n"
    f"Lisbon, Kyoto and Turin, in this order.\n\n{FILLER * 4}\n",
    "Care of roses": f"# Care of roses\n\n{FILLER * 2}\n\nCut them in March.\n",
}


class Library:
    """Documents, known by their titles."""

    @reading
    def titles(self) -> list[str]:
        """The titles of all documents."""
        return list(TEXTS)

    @reading
    def text(self, title: str) -> str:
        """The whole text of a document, in Markdown."""
        if title not in TEXTS:
            raise LookupError(f"no document has the title {title!r}")
        return TEXTS[title]


@task(
    id="library-headings",
    prompt="""Give the section headings of the document "Two weeks by train", that is, its lines that start with "##
        ", in their order and without the "## ".""",
    returns=list[str],
    tags="transform",
    solution="""
lines = library.text("Two weeks by train").splitlines()
done([line[3:] for line in lines if line.startswith("## ")])
""",
    wrong=("done([x.strip('# ') for x in library.text('Two weeks by train').splitlines() if x.startswith('#')])",),
)
def headings() -> Trial:
    return Trial(scope={"library": Library()}, check=equals(["Leaving", "Osaka to Kyoto", "The way home"]))


@task(
    id="library-mentions",
    prompt="Which documents mention Kyoto in their text? Give their titles in alphabetical order.",
    returns=list[str],
    tags="loop big-result",
    solution="done(sorted(title for title in library.titles() if 'Kyoto' in library.text(title)))",
    wrong=("done([t for t in library.titles() if 'Kyoto' in t])",),
)
def mentions() -> Trial:
    return Trial(scope={"library": Library()}, check=equals(["A year in three cities", "Two weeks by train"]))


@task(
    id="library-longest",
    prompt="Which document has the most characters in its text? Give its title.",
    returns=str,
    tags="loop aggregate big-result",
    solution="done(max(library.titles(), key=lambda title: len(library.text(title))))",
    wrong=("done(max(library.titles(), key=lambda t: library.text(t).count('#')))",),
)
def longest() -> Trial:
    return Trial(scope={"library": Library()}, check=equals("A year in three cities"))


@task(
    id="library-todos",
    prompt="""The document "Meeting notes" has lines that start with "TODO: ". Give a dictionary from the first word
        after "TODO: ", which is a person's name, to the rest of the line after that word and the space.""",
    returns=dict[str, str],
    tags="transform",
    solution="""
todos = {}
for line in library.text("Meeting notes").splitlines():
    if line.startswith("TODO: "):
        name, _, rest = line[len("TODO: "):].partition(" ")
        todos[name] = rest
done(todos)
""",
    wrong=(
        "todos = {}\nfor line in library.text('Meeting notes').splitlines():\n    if line.startswith('TODO: '):\n"
        "        todos[line.split()[1]] = line\ndone(todos)",
    ),
)
def todos() -> Trial:
    found = {"Bo": "sends the offer to the printer", "Ann": "books the hall", "Cem": "hands over the keys"}
    return Trial(scope={"library": Library()}, check=equals(found))


TASKS = (headings, mentions, longest, todos)
