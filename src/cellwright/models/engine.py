"""llama.cpp in this process, on a thread of its own: one loaded file, one request at a time, its reply in chunks.

It speaks the engine's own JSON and knows no messages of ours (`chat` does) and no Model (`embedded` is one). An engine
is shared by all users of the same file and settings, and ends with the last of them.
"""

from __future__ import annotations

import asyncio
import atexit
import mmap
import os
import secrets
import tempfile
import threading
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from cellwright.errors import ModelError, ModelMissing, ModelRefused
from cellwright.settings import install_command

Chunk = dict[str, Any]

# What the binding makes of the engine's own exceptions.
_ENGINE_ERRORS = (ArithmeticError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError)
_BATCH = 64  # tokens of the prompt between two looks at whether it is still wanted: about a second on two cores
_CACHE_MB = 512  # prompts of other conversations, kept evaluated: about 18,000 tokens
_SOCKET_PATH = 100  # bytes; the kernel takes 107

# The file's chat template shows the form of a call with its braces doubled, and the model copies that.
_TEMPLATE_KEY = b"tokenizer.chat_template"
_DOUBLED = r"{{\"name\": <function-name>, \"arguments\": <args-json-object>}}"


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineSettings:
    """A file and how it is loaded. Equal settings share one engine. `threads` None: the idle cores at that time."""

    path: Path
    threads: int | None
    window: int


class _Job:
    """One request, and the queue that takes its chunks back to the event loop."""

    def __init__(self, body: Chunk) -> None:
        self.body = body
        self.unwanted = threading.Event()
        self.chunks: asyncio.Queue[Chunk | ModelError | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def tell(self, chunk: Chunk | ModelError | None) -> bool:
        """Called on the engine's thread; gives whether to stop."""
        try:
            self._loop.call_soon_threadsafe(self.chunks.put_nowait, chunk)
        except RuntimeError:  # its event loop is closed: nobody waits
            self.unwanted.set()
        return self.unwanted.is_set()


class Engine:
    """A loaded file, or one that will be loaded for the first request. Made by `acquire`."""

    def __init__(self, loading: EngineSettings) -> None:
        self.loading = loading
        self.users = 0
        self.begun = False
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._stopping = threading.Event()
        self._job: _Job | None = None
        self.thread = threading.Thread(target=self._work, name="cellwright-model", daemon=True)

    async def stream(self, body: Chunk) -> AsyncGenerator[Chunk, None]:
        """The chunks of the reply; before them an empty one when it begins. Closing it stops the generation."""
        job = _Job(body)
        self.begun = True
        self._jobs.put(job)
        try:
            while (chunk := await job.chunks.get()) is not None:
                if isinstance(chunk, ModelError):
                    raise chunk
                yield chunk
        finally:
            job.unwanted.set()

    def stop(self) -> None:
        """End the thread, and with it the engine, after the current token or batch of the prompt."""
        self._stopping.set()
        if (job := self._job) is not None:
            job.unwanted.set()
        self._jobs.put(None)

    def _work(self) -> None:
        server: Any = None
        while (job := self._jobs.get()) is not None:
            self._job = job  # before the look at `_stopping`, which `stop` sets before it looks at this
            try:
                if self._stopping.is_set():
                    raise ModelRefused("the embedded model was closed while a request waited for it")
                if not job.unwanted.is_set():
                    server = server or _open(self.loading)
                    job.tell({})
                    server.handle_chat_completions(job.body, job.tell)
                if self._stopping.is_set():
                    raise ModelRefused("the embedded model was closed under a request")
            except ModelError as error:
                job.tell(error)
            except _ENGINE_ERRORS as error:
                job.tell(ModelRefused(f"the embedded model does not take this request: {_first_line(error)}"))
            finally:
                job.tell(None)
                self._job = None
        server = None  # frees its memory on this thread, where nobody waits
        _running.discard(self)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


# --- loading ---


def _open(loading: EngineSettings) -> Any:
    """The engine itself. It insists on a socket to listen on: a file in a private directory, gone once it is up."""
    xllamacpp = load_package()
    below = None if len(os.fsencode(tempfile.gettempdir())) < _SOCKET_PATH - 30 else "/tmp"
    with tempfile.TemporaryDirectory(prefix="cellwright-", dir=below) as private:
        try:
            return xllamacpp.Server(_parameters(xllamacpp, loading, Path(private, "engine.sock")))
        except _ENGINE_ERRORS:
            raise ModelMissing(
                f"{loading.path} does not load: it is damaged, or 2 GB of memory are not free; "
                "`cellwright models pull` checks the file and fetches it again where it is wrong"
            ) from None


def load_package() -> Any:
    """The engine's package. Raises `ModelMissing` where it, or a library of the system that it needs, is not here."""
    try:
        import xllamacpp
    except ModuleNotFoundError as error:
        why = "" if error.name == "xllamacpp" else f" ({_first_line(error)})"
        raise ModelMissing(f"the embedded model needs a package{why}: {install_command('local')}") from None
    except ImportError as error:  # slim images of containers have no libgomp
        fix = "; on Debian and Ubuntu: apt-get install libgomp1" if "libgomp" in str(error) else ""
        raise ModelMissing(f"the embedded model's package does not load: {_first_line(error)}{fix}") from None
    return xllamacpp


def _parameters(xllamacpp: Any, loading: EngineSettings, socket: Path) -> Any:
    chosen = xllamacpp.CommonParams()
    chosen.model.path = str(loading.path)
    chosen.chat_template = mended_template(loading.path)
    chosen.hostnames, chosen.port = [str(socket)], 1  # a name that ends in .sock is no TCP port; 0 is refused there
    chosen.api_keys = [secrets.token_hex(32)]
    chosen.n_threads_http = 1
    chosen.ui = chosen.endpoint_slots = chosen.endpoint_props = chosen.fit_params = chosen.warmup = False
    chosen.offline = True
    chosen.verbosity = -1
    chosen.n_gpu_layers = 0
    chosen.n_ctx, chosen.n_parallel = loading.window, 1
    chosen.n_batch = chosen.n_ubatch = _BATCH
    chosen.cache_ram_mib = _CACHE_MB
    count = loading.threads or idle_cores()
    for threads in (chosen.cpuparams, chosen.cpuparams_batch):
        threads.n_threads = count
        threads.poll = 0  # a thread that waits sleeps, so that guests get the processor
    return chosen


def mended_template(path: Path) -> str:
    """The file's chat template with its mistake corrected; "" if there is nothing to correct."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = content.find(_TEMPLATE_KEY, 0, 64 << 20)
        at = found + len(_TEMPLATE_KEY) + 4  # past the number that says it is a string
        if found < 0 or at + 8 > len(content):
            return ""
        length = int.from_bytes(content[at : at + 8], "little")
        template = content[at + 8 : at + 8 + min(length, 1 << 20)].decode(errors="replace")
    return template.replace(_DOUBLED, _DOUBLED[1:-1]) if _DOUBLED in template else ""


def idle_cores() -> int:
    """The physical cores that this process may use and that others leave free, at least one.

    Threads of the engine wait for one another at every step: with one that gets no processor, all are slower than one.
    """
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    together = {_read(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", str(cpu)) for cpu in usable}
    quota, _, period = _read("/sys/fs/cgroup/cpu.max", "max 100000").partition(" ")
    share = int(quota) // int(period) if quota.isdigit() and period.isdigit() else len(together)
    return max(1, min(len(together), share) - round(os.getloadavg()[0]))


def _read(path: str, otherwise: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return otherwise


# --- sharing ---

_lock = threading.RLock()  # a user may be collected, and let go of its engine, while this thread holds it
_shared: dict[EngineSettings, Engine] = {}
_running: set[Engine] = set()


def acquire(loading: EngineSettings) -> Engine:
    """The engine of these settings, made where there is none. Each `acquire` wants one `release`."""
    _end_at_exit()
    with _lock:
        engine = _shared.get(loading)
        is_new = engine is None
        if engine is None:
            engine = _shared[loading] = Engine(loading)
            _running.add(engine)
        engine.users += 1
    if is_new:  # without the lock: the new thread may collect another user, and `release` waits for the lock
        engine.thread.start()
    return engine


def release(engine: Engine) -> None:
    """The engine ends with its last user. Does not wait for that: it may be called by the garbage collector."""
    with _lock:
        engine.users -= 1
        if engine.users == 0:
            del _shared[engine.loading]
            engine.stop()


@cache
def _end_at_exit() -> None:
    """A thread that runs in the engine while the interpreter ends would crash the process."""

    @atexit.register
    def end() -> None:
        for engine in tuple(_running):
            engine.stop()
            engine.thread.join()
