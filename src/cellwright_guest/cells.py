"""A cell: compiled as a notebook would, run in the session's names, its error reported with its own lines."""

from __future__ import annotations

import ast
import errno
import inspect
import sys
import textwrap
import traceback
from typing import Any

from cellwright_guest import sources, workspace_name
from cellwright_guest.loop import GuestLoop

_LIMIT_OF_ERRNO = {
    errno.EMFILE: "open_files",
    errno.ENFILE: "open_files",
    errno.EFBIG: "file",
    errno.ENOSPC: "space",
    errno.EDQUOT: "space",
    errno.EAGAIN: "threads",
    errno.ENOMEM: "memory",
}
VALUE = "__cellwright_value__"
OWN = "cellwright_guest"


def filename(cell: int) -> str:
    return f"<cell {cell}>"


def compiled(code: str, cell: int) -> tuple[Any, str | None]:
    """The code object, and the name that holds the value after it ran; None: running it gives the value, if any."""
    name = filename(cell)
    if code.lstrip("\n")[:1].isspace():  # indented as a whole, as notebooks allow it
        code = textwrap.dedent(code)
    sources.keep(name, code)
    program, result = _expression(code, name), None
    if program is None:
        tree = ast.parse(code, name)
        result = _keep_value(tree)
        ast.fix_missing_locations(tree)
        program = compile(tree, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    sources.watch(name, program)
    return program, result


def _expression(code: str, name: str) -> Any:
    """The code object of a cell that is one expression, which needs no tree: half the time of a short cell."""
    try:
        return compile(code, name, "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None


def _keep_value(tree: ast.Module) -> str | None:
    """Make the last statement's value readable: an expression's, or what a last assignment assigned."""
    if not tree.body:
        return None
    last = tree.body[-1]
    target = ast.Name(VALUE, ast.Store())
    match last:
        case ast.Expr():
            tree.body[-1] = ast.copy_location(ast.Assign([ast.copy_location(target, last)], last.value), last)
            return VALUE
        case ast.Assign():
            last.targets.insert(0, ast.copy_location(target, last))
            return VALUE
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()) | ast.AugAssign(target=ast.Name(id=name)):
            return name
        case _:
            return None


def run(code: str, cell: int, names: dict[str, Any], loop: GuestLoop) -> Any:
    """Run a cell; gives its value or raises what it raised."""
    program, result = compiled(code, cell)
    names.pop(VALUE, None)
    if program.co_flags & inspect.CO_COROUTINE:
        value = loop.run_own(eval(program, names))
    else:
        value = loop.run_within(program, names)
    if result is not None:
        value = names.get(result)
        names.pop(VALUE, None)
    return value


def error_report(error: BaseException) -> dict[str, Any]:
    """An error for the host: type, message, the text with the cell's lines, the line, the limit behind it."""
    message = _text_of(error)
    line = None
    try:
        text, line = _traceback(error)
        text += workspace_name.advice(error)
    except BaseException as broken:  # an exception whose own formatting raises is still an error of the cell
        text = f"{type(error).__name__}: {message} (its traceback failed: {type(broken).__name__})"
    limit = _limit(error, message)
    return {"type": type(error).__name__, "message": message, "text": text, "line": line, "limit": limit}


def _limit(error: BaseException, message: str) -> str | None:
    """The limit behind an error of the kernel, if any."""
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, OSError):
        return _LIMIT_OF_ERRNO.get(error.errno or 0)
    return "threads" if isinstance(error, RuntimeError) and message == "can't start new thread" else None


def _text_of(error: BaseException) -> str:
    try:
        return str(error)[:20_000]
    except BaseException as broken:  # a hostile __str__ has nothing to say
        return f"(its text failed: {type(broken).__name__})"


def _traceback(error: BaseException) -> tuple[str, int | None]:
    report = traceback.TracebackException.from_exception(error, compact=True, max_group_width=5)
    line = None
    part: traceback.TracebackException | None = report
    seen: list[traceback.TracebackException] = []
    while part is not None and len(seen) < 5:
        seen.append(part)
        own = [frame for frame in part.stack if frame.filename.startswith("<cell ")]
        if part is report:
            line = own[-1].lineno if own else part.lineno if isinstance(error, SyntaxError) else None
        inner = part.stack[-1] if part.stack else None
        part.stack = traceback.StackSummary.from_list(own)
        tells_itself = issubclass(part.exc_type or Exception, SyntaxError)
        if inner is not None and inner not in own and OWN not in inner.filename and not tells_itself:
            part.stack.append(inner)
        part = part.__cause__ or part.__context__
    text = "".join(report.format())
    return text.strip()[:40_000], int(line) if line is not None else None


def fresh_names() -> dict[str, Any]:
    """The names of a new session: those of a module called __main__."""
    module = type(sys)("__main__")
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    return module.__dict__
