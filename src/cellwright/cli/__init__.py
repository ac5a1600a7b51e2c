"""The command `cellwright`: one module a command.

What a command needs is imported when it runs, so that `cellwright --help` stays as light as the parser itself.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any

import typer

from cellwright.cli.approve import approve
from cellwright.cli.arguments import PLATFORM
from cellwright.cli.audit import audit
from cellwright.cli.chat import chat
from cellwright.cli.doctor import doctor
from cellwright.cli.exec import execute
from cellwright.cli.files import files
from cellwright.cli.gateway import gateway
from cellwright.cli.models import models
from cellwright.cli.policy import policy
from cellwright.cli.recover import recover
from cellwright.cli.replay import replay
from cellwright.cli.run import run
from cellwright.cli.sessions import sessions
from cellwright.cli.stubs import stubs
from cellwright.cli.tell import tell

# The parser's own errors: typer has carried its parser inside itself since 0.26 and used click before.
_WrongCommand: Any = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="cellwright",
    help="Agents that write code, and a jail for the code: it calls your live objects, and has no keys and no network.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog='Example: cellwright run "How many of these lines name a city?" --returns int < notes.txt',
)
app.command("run", epilog="Example: cellwright run 'Who owes most?' --scope shop:crm --returns 'list[str]'")(run)
app.command("chat", epilog="Example: cellwright chat --model local --scope shop:crm")(chat)
app.command("exec", epilog="Example: cellwright exec report.py --scope crm=shop.live:crm --memory-mb 512 --wall-s 60")(
    execute
)
app.command("doctor", epilog="Example: cellwright doctor --seccomp > cellwright.json")(doctor)
app.add_typer(gateway, name="gateway")
app.add_typer(models, name="models")
app.command("stubs", epilog="Example: cellwright stubs typings --openapi github=spec.json --scope shop:crm")(stubs)
app.command("tell", epilog="Example: cellwright tell s1 'Only those in Oslo' --wait")(tell)
app.command("recover", epilog="Example: cellwright recover --list")(recover)
app.command("approve", epilog="Example: cellwright approve q-5e1c0a9f4b7d2c3e8a61 --yes --always session")(approve)
app.add_typer(policy, name="policy")
app.add_typer(audit, name="audit")
app.add_typer(sessions, name="sessions")
app.add_typer(files, name="files")
app.command("replay", epilog="Example: cellwright replay s1 --store sqlite:///agents.db")(replay)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"cellwright {version('cellwright')}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> int:
    """Run the command line; gives the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter still gets the rest
    try:
        return app(prog_name="cellwright", standalone_mode=False) or 0
    except _WrongCommand as error:
        words = error.format_message().rstrip(".").replace("\n", " ")
        where = getattr(getattr(error, "ctx", None), "command_path", "cellwright")
        if words:  # empty where the help was shown in place of a command
            print(f"cellwright: {words}; `{where} --help` says more", file=sys.stderr)
        return error.exit_code
    except typer.Abort:
        return 130
    except RuntimeError as error:
        from cellwright.sandboxes import NO_THREAD, OuterLimits

        if str(error) != NO_THREAD:
            raise
        print(f"cellwright: {OuterLimits().explained(NO_THREAD)}", file=sys.stderr)
        return PLATFORM
