"""Mock servers made from a description: Mockoon serves every route of it, and Prism also checks queries."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from tests.interop.programs import Program, free_port
from tests.interop.software import node, npm


class Mockoon(Program):
    """Answers each route with an example. `requests` are those it has got, as it understood them."""

    def __init__(self, description: Path, home: Path) -> None:
        self.port = free_port()
        program = npm("mockoon") / "@mockoon" / "cli" / "bin" / "run.js"
        command = [node(), program, "start", "--data", description, "--port", str(self.port)]
        flags = (
            "--disable-log-to-file --disable-admin-api --disable-external-refs --log-transaction --hostname 127.0.0.1"
        )
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        started = f"Server started on port {self.port}"
        super().__init__([*command, *flags.split(), "--proxy", "disabled"], env=environment, ready=started)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def requests(self, count: int) -> list[dict[str, Any]]:
        """The first so many: method, urlPath, the route that matched or None, its params, queryParams, body."""
        lines = self.until_said('"message":"Transaction recorded"', count)
        return [json.loads(line)["transaction"]["request"] for line in lines[:count]]


class Prism(Program):
    """Answers 422 to a request that its description does not allow, with the violations in a header."""

    def __init__(self, description: Path) -> None:
        self.port = free_port()
        program = npm("prism") / "@stoplight" / "prism-cli" / "dist" / "index.js"
        flags = ["--errors", "--host", "127.0.0.1", "--port", str(self.port)]
        command = [node(), program, "mock", *flags, description]
        super().__init__(command, env={"PATH": os.environ["PATH"]}, ready="Prism is listening")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def route(template: str) -> str:
    """A path template as Mockoon writes it: `/repos/{owner}` is `repos/:owner`."""
    return re.sub(r"\{([^}]+)\}", r":\1", template.lstrip("/"))
