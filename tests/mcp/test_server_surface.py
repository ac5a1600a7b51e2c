from __future__ import annotations

import ast
from typing import Any

import mcp_types as types
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.signatures import head_of

from cellwright.mcp.learned_results import LearnedResults
from cellwright.mcp.server_inventory import ServerInventory
from cellwright.mcp.server_surface import ServerSurface

texts = st.text(max_size=12)
plain: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | texts, lambda inner: st.lists(inner, max_size=3), max_leaves=4
)
kinds = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null", "odd"])
words = st.fixed_dictionaries(
    {},
    optional={
        "type": kinds | st.lists(kinds, max_size=2),
        "default": plain,
        "enum": st.lists(plain, max_size=3),
        "description": texts,
        "title": texts,
        "$ref": st.sampled_from(["#", "#/$defs/a", "#/properties/x", "http://far.example/schema"]),
    },
)
schemas: st.SearchStrategy[Any] = st.recursive(
    words | plain,
    lambda inner: st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "properties": st.dictionaries(texts, inner, max_size=4),
            "required": st.lists(texts, max_size=3) | plain,
            "$defs": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
            "allOf": st.lists(inner, max_size=2),
            "anyOf": st.lists(inner, max_size=2),
            "items": inner,
        },
    ),
    max_leaves=8,
)
objects = schemas.filter(lambda schema: isinstance(schema, dict))


@st.composite
def tools(draw: st.DrawFn) -> types.Tool:
    output = draw(st.none() | objects)
    return types.Tool(name=draw(texts), description=draw(texts), input_schema=draw(objects), output_schema=output)


@given(st.lists(tools(), max_size=4), st.lists(texts, max_size=3), st.lists(texts, max_size=2))
@settings(max_examples=40, deadline=None)
def test_whatever_a_server_lists_becomes_python(
    found: list[types.Tool], templates: list[str], prompts: list[str]
) -> None:
    listing = ServerInventory(
        tools=tuple(found),
        templates=tuple(types.ResourceTemplate(name=text, uri_template=f"x://{{{text}}}") for text in templates),
        prompts=tuple(
            types.Prompt(name=text, arguments=[types.PromptArgument(name=text, required=True)]) for text in prompts
        ),
        resources=bool(templates),
    )
    book = ServerSurface("server", listing, LearnedResults(None))
    assert {tool.name for tool in found} == set(book.names)
    for offered in book.listed():
        line = offered.line
        tree = ast.parse(f"{head_of(line)}: ...").body[0]
        assert isinstance(tree, ast.FunctionDef)
        assert tree.name == line.name == offered.path.rpartition(".")[2]
        assert [one.arg for one in tree.args.args + tree.args.kwonlyargs] == [
            "self",
            *(p.name for p in line.parameters),
        ]
        assert all(part.isidentifier() and not part.startswith("_") for part in offered.path.split("."))
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id[:1].isupper() and node.id not in ("Any", "Literal"):
                assert book.shape(node.id) is not None, node.id
