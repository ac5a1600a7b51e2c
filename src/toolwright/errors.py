"""Every error Toolwright raises, sorted by who must act.

ToolwrightError
├── UsageError                the developer: a wrong argument, a wrong order of calls
├── GuestGone                 host code whose guest function has no guest any more
├── PlatformError             the operator: the machine does not give what was asked
│   ├── IsolationMissing      a layer that the operator's minimum names
│   ├── PackagesFailed        the guest's packages could not be installed
│   └── SandboxDied           the zygote ended, or did not start
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
    ├── NotSupported          also a RuntimeError: Python that this rung refuses
    └── StaleHandle           also a ReferenceError: a host object that is not held any more
"""

from __future__ import annotations


class ToolwrightError(Exception):
    """The root. Catch it to catch everything of ours and nothing else."""


class UsageError(ToolwrightError):
    """The developer must act."""


class GuestGone(ToolwrightError):
    """A guest function was called and its guest is dead or does not answer."""


class PlatformError(ToolwrightError):
    """The operator must act."""


class IsolationMissing(PlatformError):
    """This machine does not give a layer that the operator's minimum names."""


class PackagesFailed(PlatformError):
    """The guest's packages could not be installed."""


class SandboxDied(PlatformError):
    """The process that makes guests ended, or did not start."""


class GuestError(ToolwrightError):
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


class NotSupported(GuestError, RuntimeError):
    """Python that this rung refuses."""


class StaleHandle(GuestError, ReferenceError):
    """A handle to a host object that this session does not hold."""
