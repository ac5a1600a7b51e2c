"""A toy weather service, whose functions are async as those of services are."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from evals.small.checks import equals
from evals.small.task import Trial, reading, task


@dataclass(frozen=True)
class Forecast:
    city: str
    celsius: int
    rain_mm: float


class UnknownCity(LookupError):
    """Raised for a city that the service does not know."""


FORECASTS = {
    "Athens": Forecast("Athens", 29, 0.0),
    "Bergen": Forecast("Bergen", 12, 8.5),
    "Lisbon": Forecast("Lisbon", 24, 0.0),
    "Oslo": Forecast("Oslo", 15, 1.2),
    "Rome": Forecast("Rome", 27, 0.4),
    "Turin": Forecast("Turin", 21, 3.1),
}


class Weather:
    """Tomorrow's weather."""

    @reading
    async def forecast(self, city: str) -> Forecast:
        """The forecast for a city; UnknownCity if the service does not know it."""
        await asyncio.sleep(0)
        if city not in FORECASTS:
            raise UnknownCity(f"no forecast for {city!r}")
        return FORECASTS[city]


@task(
    id="weather-one",
    prompt="How many degrees will it be in Lisbon tomorrow?",
    returns=int,
    tags="lookup async",
    solution="done((await weather.forecast('Lisbon')).celsius)",
    wrong=("done((await weather.forecast('Oslo')).celsius)",),
)
def one() -> Trial:
    return Trial(scope={"weather": Weather()}, check=equals(24))


@task(
    id="weather-umbrella",
    prompt="Will there be any rain in Rome tomorrow? Give True or False.",
    returns=bool,
    tags="lookup async",
    solution="done((await weather.forecast('Rome')).rain_mm > 0)",
    wrong=("done((await weather.forecast('Rome')).rain_mm > 1)",),
)
def umbrella() -> Trial:
    return Trial(scope={"weather": Weather()}, check=equals(True))


@task(
    id="weather-warmest",
    prompt="Which of the cities Oslo, Turin, Rome, Bergen and Lisbon will be the warmest tomorrow?",
    returns=str,
    tags="loop async",
    solution="""
import asyncio
cities = ["Oslo", "Turin", "Rome", "Bergen", "Lisbon"]
forecasts = await asyncio.gather(*(weather.forecast(city) for city in cities))
done(max(forecasts, key=lambda forecast: forecast.celsius).city)
""",
    wrong=("done('Lisbon')",),
)
def warmest() -> Trial:
    return Trial(scope={"weather": Weather()}, check=equals("Rome"))


@task(
    id="weather-known-cities",
    prompt="""How many degrees will it be tomorrow in Athens, Atlantis, Turin and Utopia? Give a dictionary from city to
        degrees, without the cities that the service does not know.""",
    returns=dict[str, int],
    tags="loop async error-recovery",
    solution="""
degrees = {}
for city in ["Athens", "Atlantis", "Turin", "Utopia"]:
    try:
        degrees[city] = (await weather.forecast(city)).celsius
    except LookupError:
        pass
done(degrees)
""",
    wrong=("done({'Athens': (await weather.forecast('Athens')).celsius})",),
)
def known_cities() -> Trial:
    return Trial(scope={"weather": Weather()}, check=equals({"Athens": 29, "Turin": 21}))


TASKS = (one, umbrella, warmest, known_cities)
