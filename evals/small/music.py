"""Toy playlists: live objects that are got from another one and then used. They make no sense one call at a time."""

from __future__ import annotations

from evals.small.checks import equals, state
from evals.small.task import Trial, task

LISTS = {
    "Road trip": ["Long Way Down", "Windows Open", "Gas Station Coffee"],
    "Rainy day": ["Grey Harbour", "Windows Open", "Slow Tea"],
    "Running": ["Fast Lane", "Uphill"],
}


class Playlist:
    """Songs in an order."""

    def __init__(self, name: str, songs: list[str]) -> None:
        self.name = name
        self._songs = songs

    def songs(self) -> list[str]:
        """The songs, in their order."""
        return list(self._songs)

    def add(self, song: str) -> None:
        """Put a song at the end."""
        self._songs.append(song)

    def __len__(self) -> int:
        return len(self._songs)

    def __contains__(self, song: str) -> bool:
        return song in self._songs


class Music:
    """Playlists by their names."""

    def __init__(self) -> None:
        self._lists = {name: Playlist(name, list(songs)) for name, songs in LISTS.items()}

    def playlists(self) -> list[Playlist]:
        """All playlists."""
        return list(self._lists.values())

    def playlist(self, name: str) -> Playlist:
        """The playlist of this name."""
        if name not in self._lists:
            raise LookupError(f"no playlist is called {name!r}")
        return self._lists[name]


def _told(music: Music) -> dict[str, list[str]]:
    return {playlist.name: playlist.songs() for playlist in music.playlists()}


@task(
    id="music-which-lists",
    prompt='Which playlists have the song "Windows Open"? Give the names of the playlists in alphabetical order.',
    returns=list[str],
    tags="loop handles",
    solution="done(sorted(p.name for p in music.playlists() if 'Windows Open' in p.songs()))",
    wrong=("done(sorted(p.name for p in music.playlists()))",),
    code_only=True,
)
def which_lists() -> Trial:
    return Trial(scope={"music": Music()}, check=equals(["Rainy day", "Road trip"]))


@task(
    id="music-merge",
    prompt="""Add to the playlist "Running" every song of the playlist "Road trip", in the same order. Do not change the
        other playlists.""",
    returns=None,
    tags="loop effect handles",
    solution="""
running = music.playlist("Running")
for song in music.playlist("Road trip").songs():
    running.add(song)
done(None)
""",
    wrong=("running = music.playlist('Running')\nrunning.add('Long Way Down')\ndone(None)",),
    code_only=True,
)
def merge() -> Trial:
    music = Music()
    after = LISTS | {"Running": [*LISTS["Running"], *LISTS["Road trip"]]}
    return Trial(scope={"music": music}, check=state("playlists", lambda: _told(music), after))


TASKS = (which_lists, merge)
