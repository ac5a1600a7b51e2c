"""A toy calendar: events of one week, and room for more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from evals.small.checks import equals, every, near, state
from evals.small.task import Trial, acting, reading, task


@dataclass(frozen=True)
class Event:
    id: int
    title: str
    start: datetime
    end: datetime


class Conflict(Exception):
    """Raised for an event that would overlap with another."""


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2025, 3, day, hour, minute)


EVENTS = (
    Event(1, "Stand-up", at(10, 9), at(10, 9, 15)),
    Event(2, "Budget review", at(10, 11), at(10, 12, 30)),
    Event(3, "Stand-up", at(11, 9), at(11, 9, 15)),
    Event(4, "Interview", at(12, 8, 30), at(12, 9, 30)),
    Event(5, "Design review", at(12, 10), at(12, 11)),
    Event(6, "Lunch with Eva", at(12, 12), at(12, 13)),
    Event(7, "Stand-up", at(13, 9), at(13, 9, 15)),
    Event(8, "Board meeting", at(13, 14), at(13, 17)),
    Event(9, "Demo", at(14, 15), at(14, 16)),
)


class Calendar:
    """My calendar. Events never overlap."""

    def __init__(self, events: tuple[Event, ...] = EVENTS) -> None:
        self._events = {event.id: event for event in events}

    @reading
    def events(self, first: date, last: date) -> list[Event]:
        """The events from the first to the last day, both included, in order of their start."""
        found = [event for event in self._events.values() if first <= event.start.date() <= last]
        return sorted(found, key=lambda event: event.start)

    @acting
    def create(self, title: str, start: datetime, end: datetime) -> Event:
        """Make an event; Conflict if it overlaps with another."""
        for other in self._events.values():
            if start < other.end and other.start < end:
                raise Conflict(f"{title!r} would overlap with {other.title!r}")
        event = Event(max(self._events, default=0) + 1, title, start, end)
        self._events[event.id] = event
        return event

    @acting
    def cancel(self, event_id: int) -> None:
        """Take an event out of the calendar."""
        if event_id not in self._events:
            raise LookupError(f"there is no event {event_id}")
        del self._events[event_id]


def told(calendar: Calendar) -> list[tuple[str, datetime, datetime]]:
    """Everything in it, for checks."""
    return [(event.title, event.start, event.end) for event in calendar.events(date.min, date.max)]


BEFORE = told(Calendar())


@task(
    id="calendar-first-event",
    prompt="What is the title of my first event on 12 March 2025?",
    returns=str,
    tags="lookup",
    solution="""
from datetime import date
day = date(2025, 3, 12)
done(calendar.events(day, day)[0].title)
""",
    wrong=("done('Design review')",),
)
def first_event() -> Trial:
    return Trial(scope={"calendar": Calendar()}, check=equals("Interview"))


@task(
    id="calendar-hours",
    prompt="How many hours of events do I have in total from 10 to 14 March 2025? Give a number such as 2.5.",
    returns=float,
    tags="aggregate",
    solution="""
from datetime import date
week = calendar.events(date(2025, 3, 10), date(2025, 3, 14))
done(sum((event.end - event.start).total_seconds() for event in week) / 3600)
""",
    wrong=(
        "from datetime import date\ndone(float(len(calendar.events(date(2025, 3, 10), date(2025, 3, 14)))))",
        "done(555.0)",
    ),
)
def hours() -> Trial:
    return Trial(scope={"calendar": Calendar()}, check=near(9.25))


@task(
    id="calendar-busiest-day",
    prompt="On which day from 10 to 14 March 2025 do I have the most events? Give the date as YYYY-MM-DD.",
    returns=str,
    tags="aggregate",
    solution="""
from collections import Counter
from datetime import date
week = calendar.events(date(2025, 3, 10), date(2025, 3, 14))
done(Counter(event.start.date().isoformat() for event in week).most_common(1)[0][0])
""",
    wrong=("done('2025-03-13')",),
)
def busiest_day() -> Trial:
    return Trial(scope={"calendar": Calendar()}, check=equals("2025-03-12"))


@task(
    id="calendar-cancel-standups",
    prompt="""Cancel every event called "Stand-up" from 10 to 14 March 2025, and give the number of events you
        cancelled.""",
    returns=int,
    tags="loop effect",
    solution="""
from datetime import date
found = [e for e in calendar.events(date(2025, 3, 10), date(2025, 3, 14)) if e.title == "Stand-up"]
for event in found:
    calendar.cancel(event.id)
done(len(found))
""",
    wrong=("done(3)", "for n in range(1, 10):\n    calendar.cancel(n)\ndone(3)"),
)
def cancel_standups() -> Trial:
    calendar = Calendar()
    after = [event for event in BEFORE if event[0] != "Stand-up"]
    return Trial(scope={"calendar": calendar}, check=every(equals(3), state("events", lambda: told(calendar), after)))


@task(
    id="calendar-first-free-hour",
    prompt="""Book an event called "Dentist" on 12 March 2025. It takes one hour and must start on a full hour, at
        9:00 or later, as early as it does not overlap with another event. Give the hour at which it starts.""",
    returns=int,
    tags="loop effect error-recovery",
    solution="""
from datetime import datetime
for hour in range(9, 18):
    try:
        calendar.create("Dentist", datetime(2025, 3, 12, hour), datetime(2025, 3, 12, hour + 1))
        break
    except Exception as error:
        print(hour, error)
done(hour)
""",
    wrong=(
        "from datetime import datetime as d\n"
        "done(calendar.create('Dentist', d(2025, 3, 12, 13), d(2025, 3, 12, 14)).start.hour)",
        "done(11)",
    ),
)
def first_free_hour() -> Trial:
    calendar = Calendar()
    after = sorted([*BEFORE, ("Dentist", at(12, 11), at(12, 12))], key=lambda event: event[1])
    return Trial(scope={"calendar": calendar}, check=every(equals(11), state("events", lambda: told(calendar), after)))


@task(
    id="calendar-31-events",
    prompt="""Make an event called "Practice" on every day of May 2025, from 7:00 to 7:30. Give the number of events you
        made.""",
    returns=int,
    tags="loop effect",
    solution="""
from datetime import datetime
for day in range(1, 32):
    calendar.create("Practice", datetime(2025, 5, day, 7), datetime(2025, 5, day, 7, 30))
done(31)
""",
    wrong=(
        "from datetime import datetime as d\nfor n in range(1, 31):\n"
        "    calendar.create('Practice', d(2025, 5, n, 7), d(2025, 5, n, 7, 30))\ndone(31)",
    ),
)
def thirty_one_events() -> Trial:
    calendar = Calendar(())
    days = [datetime(2025, 5, 1, 7) + timedelta(days=n) for n in range(31)]
    after = [("Practice", day, day + timedelta(minutes=30)) for day in days]
    return Trial(scope={"calendar": calendar}, check=every(equals(31), state("events", lambda: told(calendar), after)))


TASKS = (first_event, hours, busiest_day, cancel_standups, first_free_hour, thirty_one_events)
