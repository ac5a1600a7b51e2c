"""Text and bytes of the standard library: files in memory, patterns, csv, json, logging."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
import statistics
from collections.abc import Iterator

import pytest
from tests.cells import value


async def test_a_text_file_is_written_printed_to_and_read_by_lines() -> None:
    out = io.StringIO()
    code = """
        out.write("one\\n")
        print("two", 3, file=out)
        out.writelines(f"{i}\\n" for i in range(2))
        out.seek(0)
        out.readline(), [line.strip() for line in out], out.tell() > 0, out.read()
    """
    assert await value(code, out=out) == ("one\n", ["two 3", "0", "1"], True, "")
    assert out.getvalue() == "one\ntwo 3\n0\n1\n"


async def test_a_binary_file_is_read_in_pieces_and_closed_by_with() -> None:
    code = """
        with data:
            head = data.read(5)
            data.seek(-3, 2)
            tail = data.read()
        try:
            data.read()
        except ValueError as error:
            told = str(error)
        head, tail, data.closed, told
    """
    found = await value(code, data=io.BytesIO(b"hello world"))
    assert found == (b"hello", b"rld", True, "I/O operation on closed file.")


async def test_a_pattern_and_its_matches_answer_as_they_do_on_the_host() -> None:
    code = """
        m = pattern.search("a=1 b=22")
        if not (none := pattern.match("??")):
            first = m["key"], m.group(2), m.groups(), m.span(), m.groupdict(), m.start("key"), m.string[:3]
        first, [x[0] for x in pattern.finditer("a=1 b=22")], pattern.findall("a=1 b=22"), pattern.pattern, none
    """
    first = ("a", "1", ("a", "1"), (0, 3), {"key": "a"}, 0, "a=1")
    expected = (first, ["a=1", "b=22"], [("a", "1"), ("b", "22")], r"(?P<key>\w+)=(\d+)", None)
    assert await value(code, pattern=re.compile(r"(?P<key>\w+)=(\d+)")) == expected


async def test_a_guest_function_replaces_matches() -> None:
    code = "pattern.sub(lambda m: m['key'].upper() * int(m[2]), 'a=1 b=2')"
    assert await value(code, pattern=re.compile(r"(?P<key>\w+)=(\d+)")) == "A BB"


async def test_csv_is_read_and_written_on_the_host() -> None:
    out = io.StringIO()
    code = """
        rows = list(reader)
        by_name = [int(row["n"]) for row in dicts]
        writer.writerow(["name", "n"])
        writer.writerows([row[0], len(row)] for row in rows)
        rows, by_name, dicts.fieldnames, reader.line_num
    """
    names = {
        "reader": csv.reader(io.StringIO('a,"b,c"\nd,e\n')),
        "dicts": csv.DictReader(io.StringIO("name,n\nx,1\ny,2\n")),
        "writer": csv.writer(out, lineterminator="\n"),
    }
    assert await value(code, **names) == ([["a", "b,c"], ["d", "e"]], [1, 2], ["name", "n"], 2)
    assert out.getvalue() == "name,n\na,2\nd,2\n"


async def test_a_bound_json_module_reads_writes_and_fails_as_json_does() -> None:
    code = """
        text = json.dumps({"b": [1, None], "a": object_}, default=lambda o: f"<{o.name}>", sort_keys=True)
        try:
            json.loads("{")
        except json.JSONDecodeError as error:
            told = error.msg, error.lineno, error.colno, error.pos
        text, json.loads(text)["b"], told, json.loads("1.5", parse_float=lambda t: t + "!")
    """
    log = logging.getLogger("conformance.json")
    told = ("Expecting property name enclosed in double quotes", 1, 2, 1)
    expected = ('{"a": "<conformance.json>", "b": [1, null]}', [1, None], told, "1.5!")
    assert await value(code, json=json, object_=log) == expected


async def test_a_bound_module_shows_functions_constants_and_classes() -> None:
    code = """
        try:
            statistics.mean([])
        except statistics.StatisticsError as error:
            told = str(error)
        statistics.mean([1, 2, 6]), statistics.median(n for n in [3, 1, 2]), told, statistics.NormalDist(0, 2).stdev
    """
    found = await value(code, statistics=statistics)
    assert found == (3, 2, "mean requires at least one data point", 2.0)


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    log = logging.getLogger("conformance.guest")
    log.setLevel(logging.INFO)
    yield log
    log.setLevel(logging.NOTSET)


async def test_a_logger_logs_on_the_host(log: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    code = """
        log.info("hello %s", "you")
        log.debug("not this")
        log.warning("careful", extra={"user": "ada"})
        log.name, log.level, log.isEnabledFor(10), log.getEffectiveLevel()
    """
    assert await value(code, log=log) == ("conformance.guest", 20, False, 20)
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [("INFO", "hello you"), ("WARNING", "careful")]
    assert caplog.records[1].__dict__["user"] == "ada"


async def test_a_loggers_handlers_and_parents_are_hidden(log: logging.Logger) -> None:
    code = "[n for n in ('handlers', 'parent', 'manager', 'root') if hasattr(log, n)]"
    assert await value(code, log=log) == []
