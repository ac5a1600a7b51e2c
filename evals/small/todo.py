"""A toy to-do list."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

from evals.small.checks import equals, every, near, state
from evals.small.task import Trial, acting, reading, task


@dataclass(frozen=True)
class Item:
    id: int
    text: str
    due: date
    finished: bool = False


ITEMS = (
    Item(1, "Renew passport", date(2025, 6, 2)),
    Item(2, "Buy paint", date(2025, 5, 20), finished=True),
    Item(3, "Call the plumber", date(2025, 5, 28)),
    Item(4, "Return library books", date(2025, 5, 30)),
    Item(5, "Book ferry", date(2025, 6, 15)),
)


class TodoList:
    """Things to do."""

    def __init__(self) -> None:
        self._items = {item.id: item for item in ITEMS}

    @reading
    def items(self) -> list[Item]:
        """All items, finished or not."""
        return list(self._items.values())

    @acting
    def add(self, text: str, due: date) -> Item:
        """Put something on the list."""
        item = Item(max(self._items) + 1, text, due)
        self._items[item.id] = item
        return item

    @acting
    def finish(self, item_id: int) -> None:
        """Mark an item as finished."""
        if item_id not in self._items:
            raise LookupError(f"there is no item {item_id}")
        if self._items[item_id].finished:
            raise ValueError(f"item {item_id} is finished already")
        self._items[item_id] = replace(self._items[item_id], finished=True)


@task(
    id="todo-add",
    prompt='Put "Water the plants" on my to-do list, due on 10 June 2025.',
    returns=None,
    tags="effect",
    solution="from datetime import date\ntodo.add('Water the plants', date(2025, 6, 10))\ndone(None)",
    wrong=("from datetime import date\ntodo.add('Water the plants', date(2025, 10, 6))\ndone(None)",),
)
def add() -> Trial:
    todo = TodoList()
    after = [*ITEMS, Item(6, "Water the plants", date(2025, 6, 10))]
    return Trial(scope={"todo": todo}, check=state("items", todo.items, after))


@task(
    id="todo-next",
    prompt="Which unfinished item on my to-do list is due first? Give its text.",
    returns=str,
    tags="lookup aggregate",
    solution="done(min((i for i in todo.items() if not i.finished), key=lambda i: i.due).text)",
    wrong=("done(min(todo.items(), key=lambda i: i.due).text)",),
)
def next_item() -> Trial:
    return Trial(scope={"todo": TodoList()}, check=equals("Call the plumber"))


@task(
    id="todo-share-finished",
    prompt="What percentage of the items on my to-do list is finished? Give a number from 0 to 100.",
    returns=float,
    tags="aggregate",
    solution="items = todo.items()\ndone(100 * sum(i.finished for i in items) / len(items))",
    wrong=("items = todo.items()\ndone(sum(i.finished for i in items) / len(items))",),
)
def share_finished() -> Trial:
    return Trial(scope={"todo": TodoList()}, check=near(20.0))


@task(
    id="todo-finish-due",
    prompt="""Mark every unfinished item that was due before 1 June 2025 as finished. Give the texts of the items you
        marked, in alphabetical order.""",
    returns=list[str],
    tags="loop effect",
    solution="""
from datetime import date
late = [item for item in todo.items() if not item.finished and item.due < date(2025, 6, 1)]
for item in late:
    todo.finish(item.id)
done(sorted(item.text for item in late))
""",
    wrong=(
        "done(['Call the plumber', 'Return library books'])",
        "late = [i for i in todo.items() if not i.finished]\nfor i in late:\n    todo.finish(i.id)\n"
        "done(['Call the plumber', 'Return library books'])",
    ),
)
def finish_due() -> Trial:
    todo = TodoList()
    finished = state("finished", lambda: [i.id for i in todo.items() if i.finished], [2, 3, 4])
    return Trial(scope={"todo": todo}, check=every(equals(["Call the plumber", "Return library books"]), finished))


TASKS = (add, next_item, share_finished, finish_due)
