"""Small tasks as users set them: one module a subject, with its live objects and its tasks.

None is written for a model. Each has a solution that passes its check and wrong ones that do not; a test runs them all.
"""

from __future__ import annotations

from evals.small import bank, calendar, crm, database, files, library, mail, music, sensors, shop, todo, weather
from evals.small.task import TAGS, Task, Trial, put_files, take_files

SUBJECTS = (crm, mail, calendar, todo, shop, bank, sensors, library, weather, files, database, music)
TASKS: tuple[Task, ...] = tuple(task for subject in SUBJECTS for task in subject.TASKS)

__all__ = ["TAGS", "TASKS", "Task", "Trial", "put_files", "take_files"]
