"""The tree: turns and cells with the entries to fork at, forks and children where they leave, what rewinds left."""

from __future__ import annotations

from tests.sessions.made import cell, session, turn

from cellwright.sessions import Branch, LeftBranch, Sessions, TreePoint
from cellwright.store import MemoryStore, Note, Store


def told(points: tuple[TreePoint | LeftBranch | Branch, ...]) -> list[object]:
    """In short: a turn or cell as kind, number and entry; what hangs below in a list after it."""
    found: list[object] = []
    for one in points:
        match one:
            case TreePoint():
                found.append(f"{one.kind} {one.number} [{one.entry}]{' undone' * one.undone}")
            case LeftBranch():
                found.append(f"left [{one.entry}]")
            case Branch():
                found.append(f"{one.how} {one.summary.id} [{one.at}]")
        if one.points:
            found.append(told(one.points))
    return found


def family() -> Store:
    store = MemoryStore()
    session(
        store,
        "root",
        turn(1, "first", status="running"),  # 1
        cell(1, "a", status="running"),  # 2
        cell(1, "a"),  # 3
        turn(1, "first"),  # 4
        turn(2, "second", status="running"),  # 5
        cell(2, "b"),  # 6
        cell(2, "b", undone=True),  # 7
        Note(kind="rewound", about="1", text="4"),  # 8
        turn(3, "third"),  # 9
        cell(3, "c"),  # 10
    )
    session(store, "left", cell(3, "x"), parent="root", parent_cell=2, parent_entry=6)
    session(store, "now", parent="root", parent_cell=3, parent_entry=10)
    session(store, "early", parent="root", parent_cell=1, parent_entry=10)
    session(store, "child", turn(1, "help"), child_of="root")
    session(store, "below", parent="left", parent_cell=3, parent_entry=1)
    return store


def test_everything_stands_where_it_leaves() -> None:
    store = family()
    root = Sessions(store).tree("root")
    assert root.summary.id == "root"
    assert told(root.points) == [
        "child child [0]",  # it is older than any entry
        ["turn 1 [1]"],
        "turn 1 [4]",
        [
            "cell 1 [3]",
            "fork early [3]",
            "left [4]",
            ["turn 2 [5]", ["cell 2 [6] undone", "fork left [6]", ["cell 3 [1]", "fork below [1]"]]],
        ],
        "turn 3 [9]",
        ["cell 3 [10]", "fork now [10]"],
    ]


def test_the_tree_of_a_branch_is_that_of_its_root() -> None:
    sessions = Sessions(family())
    assert sessions.tree("below") == sessions.tree("root")


def test_a_rewind_to_what_was_left_makes_that_the_trunk() -> None:
    store = MemoryStore()
    session(
        store,
        "s",
        cell(1, "a"),  # 1
        cell(2, "b"),  # 2
        cell(2, "b", undone=True),
        Note(kind="rewound", about="1", text="1"),  # 4
        cell(3, "c"),  # 5
        cell(3, "c", undone=True),
        Note(kind="rewound", about="2", text="2"),  # 7
        cell(2, "b"),
        cell(4, "d"),  # 9
    )
    assert told(Sessions(store).tree("s").points) == [
        "cell 1 [1]",
        "left [1]",
        ["cell 3 [5] undone"],
        "cell 2 [2]",
        "cell 4 [9]",
    ]


def test_sessions_that_hang_on_each_other_in_a_circle_are_drawn_once() -> None:
    store = MemoryStore()
    session(store, "a", child_of="b")
    session(store, "b", child_of="a")
    root = Sessions(store).tree("a")
    assert told(root.points) in (["child a [0]"], ["child b [0]"])


def test_a_very_deep_tree_is_told_round_the_session_that_is_asked_for() -> None:
    store = MemoryStore()
    session(store, "s0", cell(1, "x"))
    for number in range(1, 400):
        session(store, f"s{number}", turn(1, "x"), parent=f"s{number - 1}", parent_cell=1, parent_entry=1)

    def deepest(root: Branch) -> Branch:
        below = [one for point in root.points for one in (point, *point.points) if isinstance(one, Branch)]
        return deepest(below[-1]) if below else root

    sessions = Sessions(store)
    assert (sessions.tree("s5").summary.id, deepest(sessions.tree("s5")).summary.id) == ("s0", "s19")
    assert (sessions.tree("s300").summary.id, deepest(sessions.tree("s300")).summary.id) == ("s290", "s309")
    assert deepest(sessions.tree("s300")).hidden == 1
    assert (deepest(sessions.tree("s399")).summary.id, deepest(sessions.tree("s399")).hidden) == ("s399", 0)
