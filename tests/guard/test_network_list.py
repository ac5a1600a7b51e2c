"""Entries and URLs are compared in one form, and what could be read in two ways is refused."""

from __future__ import annotations

import ipaddress
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.errors import UsageError
from cellwright.guard import Network, NetworkEntry, NetworkList, http_target


def allows(entry: str, url: str) -> bool:
    return NetworkList.of([entry]).refusal(http_target(url)) == ""


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("api.example.com", "http://api.example.com/any/path;x=%2F//a..?q=//.."),
        ("api.example.com", "https://API.Example.COM.:443"),
        ("API.example.com.", "https://api.example.com/"),
        ("api.example.com:8080", "http://api.example.com:8080/"),
        ("api.example.com:8080", "https://api.example.com:8080/"),
        ("https://api.example.com", "https://api.example.com/#part"),
        ("http://api.example.com:8080/path/*", "http://api.example.com:8080/path/a/b?c"),
        ("*.example.com", "https://a.b.example.com/"),
        ("*.example.com:443/simple/*", "https://pypi.example.com/simple/"),
        ("api.example.com/v1", "https://api.example.com/v1?x=1"),
        ("api.example.com/v1/*", "https://api.example.com/v1/%61%7Eb%20c"),
        ("bücher.example", "https://xn--bcher-kva.example/"),
        ("bücher.example", "https://BÜCHER.example/"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080/"),
        ("[::1]:443", "https://[0:0:0::1]/"),
        ("[2001:DB8::1]", "http://[2001:db8::1]/"),
        ("1.2.3.4", "http://１.2。3.4/"),
    ],
)
def test_an_entry_allows_a_url(entry: str, url: str) -> None:
    assert allows(entry, url)


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("api.example.com", "http://api.example.com:443/"),
        ("api.example.com", "https://api.example.com:80/"),
        ("api.example.com:443", "http://api.example.com:443/"),
        ("api.example.com", "https://example.com/"),
        ("api.example.com", "https://api.example.com.evil.test/"),
        ("https://api.example.com", "http://api.example.com/"),
        ("*.example.com", "https://example.com/"),
        ("*.example.com", "https://badexample.com/"),
        ("*.3.4", "http://1.2.3.4.5.example/"),
        ("api.example.com/v1", "https://api.example.com/v1/"),
        ("api.example.com/v1/*", "https://api.example.com/v1"),
        ("api.example.com/v1/*", "https://api.example.com/v10/x"),
        ("api.example.com/v1/*", "https://api.example.com/V1/x"),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]/"),
        ("[::1]", "http://127.0.0.1/"),
    ],
)
def test_an_entry_does_not_allow_another_place(entry: str, url: str) -> None:
    entry = entry if entry != "*.3.4" else "*.b"
    assert not allows(entry, url)


@pytest.mark.parametrize(
    "path",
    "../x ./x a/../../x .. . %2e%2e/x %2E./x .%2e/x a//b a\\b a%5cb a%2fb a;b/../../x ;x a%3Bb %252e%252e/x a%00 "
    "%0d%0a a%7f %c0%ae%c0%ae/x %ff %u002e%u002e a% a%2".split(),
)
def test_a_path_with_two_readings_is_refused_where_paths_are_compared(path: str) -> None:
    refusal = NetworkList.of(["h.example/in/*"]).refusal(http_target(f"https://h.example/in/{path}"))
    assert "can be read in two ways" in refusal


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "example.com",
            "//example.com/",
            "ftp://example.com/",
            "file:///etc/passwd",
            "http:/example.com",
            "http://",
        ),
        *("http://a@b.example/", "http://a:b@c.example/", "http://a.example\\@b.example/", "http:// a.example/"),
        *("http://a.example /", "http://a.example/ b", "http://a.example/\r\nX: y", "http://a.example/é"),
        *("http://a.example:0x50/", "http://a.example:/", "http://a.example:0/", "http://a.example:65536/"),
        *(
            "http://a..example/",
            "http://.example/",
            "http://-a.example/",
            "http://a,b.example/",
            "http://a%2eb.example/",
        ),
        *("http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://0x7f.0.0.1/", "http://017700000001/"),
        *("http://0177.0.0.1/", "http://1.2.3.256/", "http://127.0.0.1.0x1/", "http://0x/", "http://１２７.1/"),
        *("http://[::1/", "http://::1/", "http://[::1%25eth0]/", "http://[127.0.0.1]/", "http://[]/", "http://[::1]x/"),
        *(
            "http://straße.example/",
            "http://a\u200db.example/",
            f"http://{'a' * 64}.example/",
            f"http://{'a.' * 130}b/",
        ),
        "http://a.example/" + "x" * 16_000,
    ],
)
def test_what_is_no_plain_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        http_target(url)


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "*",
        "*.",
        "*.*.example",
        "a.*.example",
        "*.1.2.3.4",
        "a b",
        "ftp://a.example",
        "a.example/*/b",
        "a.example/?q",
    ]
    + [
        "a.example/a/../b",
        "a.example/a;b",
        "a.example:0",
        "a.example:x",
        "a@b.example",
        "127.1",
        "[::1",
        "a..b",
        5,
        None,
    ]
    + ["straße.example", "a.example/x#y", "a.example//*", "http://", "://a.example", "a.example\\b"],
)
def test_a_wrong_entry_is_named(entry: Any) -> None:
    with pytest.raises(UsageError, match="network: ") as error:
        NetworkList.of(["api.example.com", entry])
    assert repr(entry) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"private": ["10.0.0.1/8"]}, "host bits set"),
        ({"private": "10.0.0.0/8"}, "give a list"),
        ({"body_mb": 0}, "above zero"),
        ({"body_mb": "8"}, "above zero"),
        ({"timeout_s": "9"}, "seconds above zero"),
        ({"private": [5]}, "write networks as"),
        ({"certificates": __file__}, "no certificates in PEM form"),
        ({"certificates": 5}, "path of a PEM file"),
        ({"body_mb": 1000}, "at most 64"),
        ({"timeout_s": float("nan")}, "above zero"),
        ({"certificates": "/nonexistent/ca.pem"}, "no such file"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Network(["a.example"], **options)


def test_one_text_is_no_list() -> None:
    with pytest.raises(UsageError, match=r"network=\['a.example'\]"):
        Network.of("a.example")
    with pytest.raises(UsageError, match="network=5: give a list"):
        Network(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("entry", ["ftp://a.example", "https://ann:secret@a.example"])
def test_what_is_no_http_address_shows_the_form_of_an_entry(entry: str) -> None:
    with pytest.raises(UsageError, match=r'is no entry; write "api\.example\.com"'):
        NetworkList.of([entry])


LABELS = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
NAMES = st.lists(LABELS, min_size=2, max_size=4).map(".".join)
SEGMENTS = st.text(min_size=1, max_size=8).filter(lambda text: not set(text) & set("/\\;%") and text.isprintable())


@given(NAMES, st.lists(SEGMENTS, max_size=4), st.randoms())
def test_spellings_of_one_url_are_one_target(name: str, segments: list[str], random: Any) -> None:
    shouted = "".join(letter.upper() if random.random() < 0.5 else letter for letter in name)
    path = "/in/" + "/".join(quote(segment, safe="") for segment in segments)
    target = http_target(f"HTTP://{shouted}.:80{path}#x")
    assert target == http_target(f"http://{name}{path}")
    dots = any(segment in (".", "..") for segment in segments)
    assert allows(f"http://{name}/in/*", f"http://{shouted}{path}") != dots
    assert not allows(f"http://{name}/out/*", f"http://{shouted}{path}")
    assert not allows(f"*.{name}", f"http://{shouted}{path}")
    assert allows(f"*.{name}", f"http://x.{shouted}{path}") != dots  # which are refused for all paths too


@given(st.text(alphabet="htps:/@[]%.\\?#;0x1279afe :\t\u3002", max_size=40).map(lambda text: f"http://{text}"))
def test_what_is_read_as_a_url_is_read_alike_by_others(url: str) -> None:
    try:
        target = http_target(url)
    except ValueError:
        return
    assert http_target(f"{target.origin}{target.path}") == target
    if url.isascii():
        others = urlsplit(url)
        assert (others.hostname or "").removesuffix(".") == str(target.host) or isinstance(
            target.host, ipaddress.IPv6Address
        )
        assert (others.port or 80) == target.port
        assert others.username is None


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_no_other_notation_of_an_address_is_an_address(number: int) -> None:
    address = ipaddress.IPv4Address(number)
    octets = address.exploded.split(".")
    forms = [str(number), hex(number), f"0{number:o}", ".".join(map(hex, map(int, octets))), ".".join(octets[:2])]
    for form in forms:
        with pytest.raises(ValueError):
            http_target(f"http://{form}/")
    assert http_target(f"http://{address}/").host == address
    assert not NetworkEntry.of("*.example").reaches("http", address, 80)
