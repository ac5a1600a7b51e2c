"""Every error Cellwright raises, sorted by who must act.

CellwrightError
├── UsageError                the developer: a wrong argument, a wrong order of calls
│   ├── NoSession             the store has no session of that id
│   ├── NoQuestion            the store has no question of that id
│   ├── SessionBusy           another process runs that session
│   ├── SpecError             a description of an API that cannot be read at all
│   └── RollbackRefused       not everything can be undone, and nobody said yes
├── GuestGone                 host code whose guest function has no guest any more
├── TurnFailed                whoever set the task: it did not come to an answer; carries the result so far
│   ├── ReturnTypeError       what was returned is not of the type that was asked for
│   ├── Stuck                 the same failure again and again, and another way did not help
│   ├── BudgetSpent           tokens, money, steps or time
│   ├── TurnWaiting           a call of it waits for a person's yes: `questions`; it is carried on when that is there
│   └── TurnCancelled         a person ended it
├── PlatformError             the operator: the machine does not give what was asked
│   ├── IsolationMissing      a layer that the operator's minimum names
│   ├── PackagesFailed        the guest's packages could not be installed
│   ├── NotChecked            the type checker gave no verdict on a cell
│   ├── SandboxDied           the zygote ended, or did not start, or could start no guest
│   ├── JournalFailed         the journal could not be written or read
│   ├── ModelError            a language model did not reply
│   │   ├── ModelBusy         it may later: 429, 5xx, a connection that broke off, a timeout
│   │   ├── ModelRefused      it will not: a wrong key, an unknown name, a request it does not take
│   │   └── ModelMissing      a package, a key or a file is not here yet
│   ├── UpstreamGone          also a ConnectionError: an upstream that cannot be reached, or ended
│   ├── Fenced                another process has taken this session over
│   ├── RestoreFailed         cells could not be run again: guests ended, one after the other, or files are not kept
│   └── RollbackFailed        an undo failed: what is undone and what is not
└── GuestError                the agent: the text goes to the model
    ├── CodeError             the cell raised
    ├── Crashed               the guest process died: a signal, `os._exit`
    ├── Cancelled             the host cancelled the cell
    ├── ProtocolError         the guest sent what no guest sends
    ├── LimitExceeded
    │   ├── TimeLimit         wall_s            ├── CpuLimit         cpu_s
    │   ├── MemoryLimit       memory_mb         ├── ProcessLimit     processes, threads
    │   ├── OpenFilesLimit    open_files        ├── FileSizeLimit    file_mb
    │   ├── WorkspaceLimit    workspace_mb      ├── OutputLimit      output_kb
    │   └── CallLimit         host_calls, calls in flight, live handles
    ├── NotPublic             also an AttributeError: the name is not there for guest code
    ├── NotInScope            also a NameError
    ├── WrongArguments        also a TypeError: names the right parameters
    ├── CannotCross           also a TypeError: a value that has no way over the boundary
    ├── OutcomeUnknown        a call that had begun when the process died: it may have happened
    ├── HandleLost            also a ReferenceError: a host object that did not outlive its process
    ├── Diverged              code that was run again did not ask for the same
    ├── NotReversible         an operation without an undo, inside a transaction
    ├── Waiting               a call of the cell waits for a person's yes; the cell is carried on when that is there
    ├── Denied                also a PermissionError: a person said no to a call, or nobody could be asked
    ├── RequestRefused        also a PermissionError: a request that the session's network does not allow: `status`
    ├── UpstreamError         an upstream answered, and not with a result: `status`, `body`
    │   ├── UpstreamRefused   also a PermissionError: 401, 403; a key that is missing or wrong
    │   └── UpstreamMissing   also a LookupError: 404, 410
    ├── ChildFailed           an agent that the code spawned came to no answer
    ├── TypeMistake           the type checker refused the cell before it ran
    ├── NotSupported          also a RuntimeError: Python that this rung refuses
    └── StaleHandle           also a ReferenceError: a host object that is not held any more
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class CellwrightError(Exception):
    """The root. Catch it to catch everything of ours and nothing else."""


class UsageError(CellwrightError):
    """The developer must act."""


class GuestGone(CellwrightError):
    """A guest function was called and its guest is dead or does not answer."""


class PlatformError(CellwrightError):
    """The operator must act."""


class IsolationMissing(PlatformError):
    """This machine does not give a layer that the operator's minimum names. `lacking` are such layers, where known."""

    def __init__(self, message: str, lacking: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.lacking = tuple(lacking)


class NotChecked(PlatformError):
    """The type checker gave no verdict on a cell. The message has the reason; the cell may be right or wrong."""


class PackagesFailed(PlatformError):
    """The guest's packages could not be installed."""


class SandboxDied(PlatformError):
    """The process that makes guests ended, did not start, or could start no guest."""


class NoSession(UsageError):
    """The store has no session of that id."""


class NoQuestion(UsageError):
    """The store has no question of that id."""


class SessionBusy(UsageError):
    """Another process runs that session, as far as can be known."""


class SpecError(UsageError):
    """A description of an API that cannot be read at all: no such file, no JSON or YAML, no OpenAPI."""


class RollbackRefused(UsageError):
    """Not everything can be undone; the message lists what. Say `yes=True` to undo the rest."""

    def __init__(self, text: str, *, left: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.left = left


class JournalFailed(PlatformError):
    """The journal could not be written or read. What was written before is there."""


class Fenced(PlatformError):
    """Another process has taken this session over; this one does nothing more for it."""


class RestoreFailed(PlatformError):
    """`cell` of `session` could not be run again: guests died or met a limit, one after the other, or its files are no
    longer kept.

    Nothing was written to the journal: the session may be resumed again.
    """

    def __init__(self, text: str, *, session: str = "", cell: int = 0) -> None:
        super().__init__(text)
        self.session = session
        self.cell = cell


class RollbackFailed(PlatformError):
    """An undo failed. The message says what is undone, what failed, and what was not tried."""

    def __init__(
        self,
        text: str,
        *,
        undone: tuple[str, ...] = (),
        failed: str = "",
        not_tried: tuple[str, ...] = (),
    ) -> None:
        super().__init__(text)
        self.undone = undone
        self.failed = failed
        self.not_tried = not_tried


class UpstreamGone(PlatformError, ConnectionError):
    """An upstream that cannot be reached, or that ended. What it was asked may have happened, if the text says so."""


class ModelError(PlatformError):
    """A language model did not reply."""


class ModelBusy(ModelError):
    """It may reply later. `retry_after_s` is the provider's own wish, None where it said nothing."""

    def __init__(self, text: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s


class ModelRefused(ModelError):
    """It will not reply to this: a wrong key, an unknown name, a request that it does not take."""


class ModelMissing(ModelError):
    """A package, a key or a file that this model needs is not here. The message says how to get it."""


class TurnFailed(CellwrightError):
    """A turn did not come to an answer. `result` is what there was by then: usage, trace, session."""

    def __init__(self, text: str, *, result: Any = None) -> None:
        super().__init__(text)
        self.result: Any = result


class ReturnTypeError(TurnFailed):
    """What was returned is not of the type that was asked for. `returned` is the last of it."""

    def __init__(self, text: str, *, returned: Any = None, result: Any = None) -> None:
        super().__init__(text, result=result)
        self.returned: Any = returned


class Stuck(TurnFailed):
    """The same failure again and again, and another way did not help. The message is the report."""


class TurnWaiting(TurnFailed):
    """A call waits for a person's yes, and the guest was ended. `carry_on` goes on from there when it is decided.

    `questions` are the ids of what is asked; `session` is where.
    """

    def __init__(self, text: str, *, session: str = "", questions: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.session = session
        self.questions = questions


class TurnCancelled(TurnFailed):
    """A person ended the turn by a message."""


class BudgetSpent(TurnFailed):
    """Tokens, money, steps or time are used up. `what` names which."""

    def __init__(self, text: str, *, what: str = "", result: Any = None) -> None:
        super().__init__(text, result=result)
        self.what = what


class GuestError(CellwrightError):
    """The agent must act. `str()` of it is what the model reads."""


class CodeError(GuestError):
    """The cell raised. `str()` is its traceback: the cell's own lines, with a caret."""

    def __init__(self, text: str, *, type: str, message: str, line: int | None = None) -> None:
        super().__init__(text)
        self.type = type
        self.message = message
        self.line = line


class Crashed(GuestError):
    """The guest process died under the cell."""


class Cancelled(GuestError):
    """The host cancelled the cell."""


class ProtocolError(GuestError):
    """The guest sent what no guest sends. The session ends; the others do not notice."""


class LimitExceeded(GuestError):
    """A limit of `Limits` ended the cell, or refused a step of it."""


class TimeLimit(LimitExceeded):
    """`wall_s`."""


class CpuLimit(LimitExceeded):
    """`cpu_s`."""


class MemoryLimit(LimitExceeded):
    """`memory_mb`."""


class ProcessLimit(LimitExceeded):
    """`processes` or `threads`."""


class OpenFilesLimit(LimitExceeded):
    """`open_files`."""


class FileSizeLimit(LimitExceeded):
    """`file_mb`."""


class WorkspaceLimit(LimitExceeded):
    """`workspace_mb`."""


class OutputLimit(LimitExceeded):
    """`output_kb`."""


class CallLimit(LimitExceeded):
    """`host_calls`, the calls in flight, or the live handles."""


class NotPublic(GuestError, AttributeError):
    """The name is not there for guest code: private, hidden, or absent."""


class NotInScope(GuestError, NameError):
    """The name is not in scope."""


class WrongArguments(GuestError, TypeError):
    """A call that does not fit the signature. The message names the right parameters."""


class CannotCross(GuestError, TypeError):
    """A value that has no way over the boundary."""


class StaleHandle(GuestError, ReferenceError):
    """A handle to a host object that this session does not hold."""


class OutcomeUnknown(GuestError):
    """A call had begun when the process died, and its answer was not kept. It may have happened."""


class HandleLost(GuestError, ReferenceError):
    """A host object that did not outlive the process which made it. The message names the call that made it."""


class Diverged(GuestError):
    """Code that was run again did not ask for what the journal has. The message says where, what was, and what is."""


class NotReversible(GuestError):
    """An operation that cannot be undone was called inside a transaction, and did not run."""


class Waiting(GuestError):
    """A call of the cell waits for a person's yes, and the guest was ended; it is carried on when that is decided."""


class Denied(GuestError, PermissionError):
    """A call that waits for a person's yes did not get it, and was not made. The message has the reason, if any."""


class ContentChanged(Denied):
    """What a person said yes to has other content now. The call was not made; the person is asked again."""


class RequestRefused(GuestError, PermissionError):
    """A request of guest code that the session's network does not allow. `status` is what its HTTP client gets."""

    def __init__(self, text: str, *, status: int = 403) -> None:
        super().__init__(text)
        self.status = status


class UpstreamError(GuestError, RuntimeError):
    """An upstream answered, and not with a result. `status` is HTTP's, 0 where there is none; `body` what it said."""

    def __init__(self, text: str, *, status: int = 0, body: Any = None) -> None:
        super().__init__(text)
        self.status = status
        self.body = body


class UpstreamRefused(UpstreamError, PermissionError):
    """401 or 403: a key that is missing, wrong, or not allowed to do this."""


class UpstreamMissing(UpstreamError, LookupError):
    """404 or 410: what was asked for is not there."""


class ChildFailed(GuestError):
    """An agent that the code spawned came to no answer. The others go on."""


class TypeMistake(GuestError):
    """The type checker refused the cell. Nothing of it ran. `mistakes` are what it found, one by one."""

    def __init__(self, text: str, *, mistakes: tuple[Any, ...] = ()) -> None:
        super().__init__(text)
        self.mistakes = mistakes
