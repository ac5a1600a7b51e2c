"""Toy sensors: a year of readings each, too many to be read through."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from evals.small.checks import equals, near
from evals.small.task import Trial, reading, task


@dataclass(frozen=True)
class Reading:
    time: datetime
    celsius: float


class SensorOffline(ConnectionError):
    """Raised for a sensor that does not answer."""


BASES = {"attic": 17.0, "cellar": 11.0, "garage": 14.0, "kitchen": 20.0, "porch": 8.0}
OFFLINE = ("garage", "porch")
COUNT, PEAK = 2000, 777


def _readings(name: str) -> list[Reading]:
    """Four a day: the same ones every time, with a wave over the day and one over the weeks."""
    base, first = BASES[name], datetime(2024, 1, 1)
    found: list[Reading] = []
    for n in range(COUNT):
        celsius = base + (n % 4) * 0.5 + (n % 28) * 0.1 + (14.2 if name == "cellar" and n == PEAK else 0.0)
        found.append(Reading(first + timedelta(hours=6 * n), round(celsius, 2)))
    return found


class Sensors:
    """Temperature sensors in a house, each with a long list of readings."""

    def __init__(self, offline: tuple[str, ...] = ()) -> None:
        self._offline = offline

    @reading
    def names(self) -> list[str]:
        """The names of all sensors."""
        return list(BASES)

    @reading
    def readings(self, name: str) -> list[Reading]:
        """All readings of a sensor, the oldest first; SensorOffline if it does not answer."""
        if name not in BASES:
            raise LookupError(f"no sensor is called {name!r}")
        if name in self._offline:
            raise SensorOffline(f"the sensor {name!r} does not answer")
        return _readings(name)


@task(
    id="sensors-average",
    prompt="What is the average temperature of all readings of the kitchen sensor? Round it to two decimals.",
    returns=float,
    tags="aggregate big-result",
    solution="""
readings = sensors.readings("kitchen")
done(round(sum(r.celsius for r in readings) / len(readings), 2))
""",
    wrong=("readings = sensors.readings('kitchen')[:100]\ndone(round(sum(r.celsius for r in readings) / 100, 2))",),
)
def average() -> Trial:
    celsius = [r.celsius for r in _readings("kitchen")]
    return Trial(scope={"sensors": Sensors()}, check=near(sum(celsius) / len(celsius), 0.006))


@task(
    id="sensors-above",
    prompt="How many readings of the attic sensor are above 20 degrees?",
    returns=int,
    tags="aggregate big-result",
    solution="done(sum(r.celsius > 20 for r in sensors.readings('attic')))",
    wrong=("done(sum(r.celsius >= 20 for r in sensors.readings('attic')))",),
)
def above() -> Trial:
    return Trial(scope={"sensors": Sensors()}, check=equals(sum(r.celsius > 20 for r in _readings("attic"))))


@task(
    id="sensors-hottest",
    prompt="Which sensor had the highest single reading? Give its name.",
    returns=str,
    tags="loop aggregate big-result",
    solution="done(max(sensors.names(), key=lambda name: max(r.celsius for r in sensors.readings(name))))",
    wrong=("done(max(sensors.names(), key=lambda name: sensors.readings(name)[0].celsius))",),
)
def hottest() -> Trial:
    return Trial(scope={"sensors": Sensors()}, check=equals("cellar"))


@task(
    id="sensors-peak-day",
    prompt="On which day was the highest reading of the cellar sensor? Give the date as YYYY-MM-DD.",
    returns=str,
    tags="aggregate big-result transform",
    solution="""
peak = max(sensors.readings("cellar"), key=lambda r: r.celsius)
done(peak.time.date().isoformat())
""",
    wrong=("done(sensors.readings('cellar')[0].time.date().isoformat())",),
)
def peak_day() -> Trial:
    day = (datetime(2024, 1, 1) + timedelta(hours=6 * PEAK)).date().isoformat()
    return Trial(scope={"sensors": Sensors()}, check=equals(day))


@task(
    id="sensors-offline",
    prompt="Which sensors do not answer when their readings are asked for? Give their names in alphabetical order.",
    returns=list[str],
    tags="loop big-result error-recovery",
    solution="""
silent = []
for name in sensors.names():
    try:
        sensors.readings(name)
    except ConnectionError:
        silent.append(name)
done(sorted(silent))
""",
    wrong=("done([])", "done(sensors.names())"),
)
def offline() -> Trial:
    return Trial(scope={"sensors": Sensors(OFFLINE)}, check=equals(sorted(OFFLINE)))


TASKS = (average, above, hottest, peak_day, offline)
