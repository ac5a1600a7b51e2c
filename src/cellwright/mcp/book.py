"""What a server offers, as a surface: each tool, template and prompt as a typed function, and how it is called.

Made anew when the server says that something changed. It makes no call and knows no connection.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cellwright.mcp.heads import Parameters, head
from cellwright.mcp.lessons import Lessons
from cellwright.mcp.listing import Listing
from cellwright.mcp.names import aliased, identifiers
from cellwright.mcp.outputs import LINK, MEDIA, RESOURCE, titled, unwrapped
from cellwright.schemas import RecordPlan, Types, first_sentence, local_resolve, plain_text
from cellwright.scope import Line, Offered, Shape

_DEFINITIONS = {"#/$defs/", "#/definitions/"}
RESOURCES, PROMPTS = "resources", "prompts"
_ABOUT = {
    RESOURCES: "What the server has to be read: `list()` tells the URIs, `read(uri)` gives one.",
    PROMPTS: "Texts that the server has prepared: each gives its messages as one text.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How one function is called. `keys`: each argument with its key at the server; `lesson` is where to learn."""

    kind: Literal["tool", "list", "read", "template", "prompt"]
    path: str
    name: str  # at the server; of a template the template itself
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    required: frozenset[str] = frozenset()  # of the keys
    schema: Any = None
    reading: Any = None
    output: bool = False  # it has an output schema
    wrapped: bool = False  # its result is the only field of that
    repeatable: bool = False  # twice is as good as once
    lesson: str = ""


class Book:
    """A `Surface` and the plans behind it."""

    def __init__(self, server: str, listing: Listing, lessons: Lessons) -> None:
        self.listing = listing
        self.plans: dict[str, Plan] = {}
        self._server = server
        self._lessons = lessons
        self._offered: dict[str, Offered] = {}
        self._schemas: dict[str, Any] = {}  # by base
        self._alike: dict[str, tuple[str, Any]] = {}
        self._types = Types(self._resolve)
        self._types.given(MEDIA, "Media")
        self._types.given(LINK, "ResourceLink")
        self.names = self._tools()
        if listing.resources:
            self._resources()
        self._prompts()
        self._shapes = self._types.shapes()
        self.key = self._digest()

    @property
    def records(self) -> dict[str, RecordPlan]:
        return self._types.records()

    # Surface

    def listed(self) -> Iterator[Offered]:
        return iter(tuple(self._offered.values()))

    def find(self, path: str) -> Offered | None:
        return self._offered.get(path)

    def below(self, path: str) -> tuple[str, ...]:
        lead = f"{path}." if path else ""
        found = (one[len(lead) :].partition(".")[0] for one in self._offered if one.startswith(lead))
        return tuple(dict.fromkeys(found))

    def about(self, path: str) -> str:
        if path:
            return _ABOUT.get(path, "")
        return first_sentence(self.listing.instructions) or first_sentence(self.listing.title)

    def shape(self, name: str) -> Shape | None:
        return self._shapes.get(name)

    def shapes(self) -> Iterator[str]:
        return iter(tuple(self._shapes))

    def alias(self, name: str) -> str | None:
        return aliased(name, self._server, self.names)

    # making it

    def _resolve(self, ref: str, base: str) -> tuple[str, Any, str]:
        found, node, _ = local_resolve(self._schemas[base])(ref, base)
        return f"{base}{found}", node, base

    def _add(self, plan: Plan, line: Line, *, reads: bool = False, words: str = "") -> None:
        self.plans[plan.path] = plan
        self._offered[plan.path] = Offered(
            path=plan.path, line=line, reads=reads, idempotent=plan.repeatable, words=words
        )

    def _tools(self) -> dict[str, str]:
        spaces = frozenset(
            name for name, there in ((RESOURCES, self.listing.resources), (PROMPTS, self.listing.prompts)) if there
        )
        names = identifiers((tool.name for tool in self.listing.tools), taken=spaces, other="tool")
        for tool in self.listing.tools:
            if names[tool.name] not in self.plans:  # a server that lists one twice
                self._tool(tool, names[tool.name])
        return names

    def _tool(self, tool: Any, name: str) -> None:
        inside = self._base(tool.input_schema)
        given = Parameters(tool.input_schema, lambda schema, hint: self._types.taken(schema, f"{name} {hint}", inside))
        gives, reading, wrapped, lesson = self._result(tool, name)
        hints = tool.annotations
        reads = bool(hints and hints.read_only_hint)
        again = reads or bool(hints and hints.idempotent_hint)
        plan = Plan(
            kind="tool",
            path=name,
            name=tool.name,
            keys=given.keys,
            required=given.required,
            schema=tool.input_schema,
            reading=reading,
            output=tool.output_schema is not None,
            wrapped=wrapped,
            repeatable=again,
            lesson=lesson,
        )
        notes: list[str] = []
        if hints and hints.destructive_hint and not reads:
            notes.append("It may destroy what is there.")
        notes.append(self._lessons.note(lesson) if lesson else "")
        title = tool.title or (hints.title if hints else None) or ""
        line = self._line(name, given, gives, tool.description or title, notes)
        self._add(plan, line, reads=reads, words=f"{tool.name} {title} mcp__{self._server}__{tool.name}")

    def _result(self, tool: Any, name: str) -> tuple[str, Any, bool, str]:
        """The type of what a tool gives, how it is read, whether it is unwrapped, and the key of its lesson."""
        hint = f"{name} result"
        if tool.output_schema is not None:
            inner = unwrapped(tool.output_schema)
            schema = tool.output_schema if inner is None else inner
            text, reading = self._given(schema, titled(schema) or hint, self._base(tool.output_schema))
            return text, reading, inner is not None, ""
        key = self._lessons.key(tool.name, tool.input_schema)
        schema = self._lessons.schema(key)
        if schema is None:
            plain = self._lessons.only_text(key) and not self._lessons.mixed(key)
            return ("str" if plain else "Any"), None, False, key
        text, reading = self._given(schema, hint, self._base(schema))
        return text, reading, False, key

    def _given(self, schema: Any, hint: str, base: str) -> tuple[str, Any]:
        """Each tool brings its own copy of a schema; those that are alike and called alike are one class."""
        key = f"{hint} {base} {json.dumps(schema, sort_keys=True, default=repr)}"
        if key not in self._alike:
            self._alike[key] = self._types.given(schema, hint, base)
        return self._alike[key]

    def _base(self, schema: Any) -> str:
        """The document that a schema's references lead into. Those with the same definitions are one."""
        told = json.dumps(schema, sort_keys=True, default=repr)
        refs = set(re.findall(r'"\$ref": "(#/[^/"]*/|[^"]*)', told))
        defs = {word: schema.get(word) for word in ("$defs", "definitions")} if refs <= _DEFINITIONS else schema
        base = hashlib.sha256(json.dumps(defs, sort_keys=True, default=repr).encode(errors="replace")).hexdigest()[:16]
        self._schemas[base] = schema
        return base

    def _resources(self) -> None:
        text, reading = self._types.given(RESOURCE, "Resource")
        listed = Plan(kind="list", path=f"{RESOURCES}.list", name="", reading=reading, repeatable=True)
        line = self._line("list", Parameters.none(), f"list[{text}]", "The resources that there are now.")
        self._add(listed, line, reads=True, words="resources uri files")
        uri = Parameters.texts({"uri": True}, {})
        plan = Plan(kind="read", path=f"{RESOURCES}.read", name="", keys=uri.keys, repeatable=True)
        doc = "What is at this URI: text, or bytes where it is no text."
        self._add(plan, self._line("read", uri, "str | bytes", doc), reads=True, words="resource get content file")
        names = identifiers((one.name for one in self.listing.templates), taken=frozenset(("list", "read")), other="at")
        for one in self.listing.templates:
            self._template(one, names[one.name])

    def _template(self, one: Any, name: str) -> None:
        given = Parameters.of_template(one.uri_template)
        path = f"{RESOURCES}.{name}"
        if given is None or path in self.plans:  # a template that RFC 6570 does not know
            return
        keys, template = given.keys, one.uri_template
        plan = Plan(kind="template", path=path, name=template, keys=keys, required=given.required, repeatable=True)
        texts = (one.mime_type or "").startswith("text/") or one.mime_type == "application/json"
        doc = one.description or one.title or f"The resource at {template}."
        line = self._line(name, given, "str" if texts else "str | bytes", doc)
        self._add(plan, line, reads=True, words=f"{one.name} {template} resource")

    def _prompts(self) -> None:
        names = identifiers(prompt.name for prompt in self.listing.prompts)
        for prompt in self.listing.prompts:
            arguments = prompt.arguments or []
            wanted = {argument.name: bool(argument.required) for argument in arguments}
            given = Parameters.texts(wanted, {argument.name: argument.description or "" for argument in arguments})
            name, path = names[prompt.name], f"{PROMPTS}.{names[prompt.name]}"
            keys, required = given.keys, given.required
            plan = Plan(kind="prompt", path=path, name=prompt.name, keys=keys, required=required, repeatable=True)
            line = self._line(name, given, "str", prompt.description or prompt.title or "")
            self._add(plan, line, reads=True, words=f"{prompt.name} {prompt.title or ''} prompt")

    def _line(self, name: str, given: Parameters, gives: str, doc: str, notes: list[str] | None = None) -> Line:
        parts = [plain_text(doc), "\n".join(given.docs), "\n".join(note for note in notes or () if note)]
        return Line(
            name=name,
            heads=(head(name, given, gives),),
            callable=True,
            gives=gives,
            parameters=tuple(given.keys),
            doc="\n\n".join(part for part in parts if part),
        )

    def _digest(self) -> str:
        told = repr((self._server, self.about(""), list(self._offered.values()), self._shapes))
        return f"mcp-{hashlib.sha256(told.encode(errors='replace')).hexdigest()[:32]}"
