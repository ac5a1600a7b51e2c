"""`cellwright models`: which model would be used and why, and the embedded one's file: pull it, remove it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cellwright.cli.answers import json_text
from cellwright.cli.arguments import PLATFORM, ended, exit_on_error
from cellwright.cli.options import option
from cellwright.settings import Settings, install_command

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


_TENTH = 0.1  # how often a pull that no terminal watches says how far it is

models = typer.Typer(
    help="Show which model would be used and why; fetch or remove the embedded one.",
    invoke_without_command=True,
    no_args_is_help=False,
    epilog="Examples: cellwright models · cellwright models --json · cellwright models pull · cellwright models rm",
)


@models.callback()
def listed(
    context: typer.Context,
    as_json: Annotated[bool, option("Print one JSON object in place of the table.", "--json")] = False,
) -> None:
    """Show which model would be used and why, the state of the embedded one, and the providers whose key is set.

    Exit codes: 0; of `pull` and `rm` also 4 it could not be done, 130 cancelled with Ctrl-C.
    """
    if context.invoked_subcommand is not None:
        return
    with exit_on_error():
        described = _described()
    if as_json:
        print(json_text(described, ensure_ascii=False, indent=2))
    else:
        _show(described)


@models.command("pull", epilog="Examples: cellwright models pull --quiet · cellwright models pull names")
def pull(
    what: Annotated[
        Literal["local", "names"],
        typer.Argument(help="The embedded language model, or the one that finds names of people.", show_default=True),
    ] = "local",
    force: Annotated[bool, option("Fetch it even if it is here.", "--force")] = False,
    quiet: Annotated[bool, option("Say nothing but what goes wrong.", "--quiet", "-q")] = False,
) -> None:
    """Fetch the embedded model (1.1 GB, once) and check its hash. Goes on where an earlier pull broke off.

    `names` fetches the model by which names in free text are found (34 MB).

    Exit codes: 0 it is here, 4 it could not be fetched, 130 cancelled with Ctrl-C.
    """
    from cellwright.models import pull_names, pull_weights

    kept = "cancelled; what was fetched is kept, and the next pull goes on from it"
    with exit_on_error(kept), PullProgress(quiet=quiet) as progress:
        fetch = pull_names if what == "names" else pull_weights
        path = fetch(Settings.from_environment(), progress=progress, force=force)
    if not quiet:
        print(path)


@models.command("rm", epilog="Example: cellwright models rm")
def rm() -> None:
    """Remove the embedded model's file, and what an unfinished pull left.

    Exit codes: 0 it is gone, 4 it could not be removed.
    """
    from cellwright.models import QWEN, remove_weights, size_text

    with exit_on_error():
        settings = Settings.from_environment()
        try:
            freed = remove_weights(settings)
        except OSError as error:
            raise ended(PLATFORM, f"cannot remove it: {error.strerror or error}") from None
    print(f"removed {QWEN.path(settings)}: {size_text(freed)} freed" if freed else "the embedded model is not here")


def _described() -> dict[str, Any]:
    from importlib.util import find_spec

    from cellwright.models import QWEN, default_model

    settings = Settings.from_environment()
    choice, held = default_model(settings), QWEN.held(settings)
    package = find_spec("xllamacpp") is not None
    steps = [install_command("local")] * (not package)  # which make the embedded model ready
    if held.state != "pulled":
        steps.append("cellwright models pull")
    return {
        "default": {"name": choice.name, "why": choice.why},
        "local": {
            "state": held.state,
            "ready": package and held.state == "pulled",
            "path": str(held.path),
            "bytes": held.size,
            "of_bytes": QWEN.size,
            "sha256": QWEN.sha256,
            "package": package,
            "next": " && ".join(steps),
        },
        "keys": sorted(settings.keys),
    }


def _show(described: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from cellwright.models import size_text

    default, local, keys = described["default"], described["local"], described["keys"]
    size = size_text(local["of_bytes"])
    states = {
        "not pulled": f"not pulled ({size})",
        "partial": f"{size_text(local['bytes'])} of {size} pulled",
        "pulled": f"pulled, {size}, in {local['path']}",
        "damaged": f"{local['path']} has {local['bytes']} bytes and not {local['of_bytes']}",
    }
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(Text("default", style="bold"), Text(f"{default['name']}\n{default['why']}"))
    table.add_row(Text("local", style="bold"), Text(states[local["state"]]))
    if local["next"]:
        table.add_row("", Text(f"→ {local['next']}", style="yellow"))
    table.add_row(Text("keys", style="bold"), Text(", ".join(keys) or "none is set"))
    Console(highlight=False).print(table)


class PullProgress:
    """Shows a pull on stderr: a bar on a terminal, lines elsewhere, nothing when `quiet`."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Bar | None = None
        self._task: Any = None
        self._told = 0.0

    def __enter__(self) -> PullProgress:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

        console = Console(stderr=True, highlight=False)
        if console.is_terminal and not self._quiet:
            columns = BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()
            self._bar = Progress(*columns, console=console)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, line: str) -> None:
        if self._bar is not None:
            self._bar.console.print(line, markup=False, soft_wrap=True)
        elif not self._quiet:
            print(line, file=sys.stderr, flush=True)

    def at(self, done: int, total: int) -> None:
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task("", total=total, completed=done)  # what was there is not its speed
            self._bar.update(self._task, completed=done)
        elif not self._quiet and done >= (self._told + _TENTH) * total:
            self._told = done / total
            print(f"{self._told:.0%}", file=sys.stderr, flush=True)
