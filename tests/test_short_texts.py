"""Texts on one line and within a bound, and long ones page by page."""

from __future__ import annotations

from cellwright.errors import CodeError, TypeMistake
from cellwright.short_texts import (
    LongTexts,
    cut,
    cut_counted,
    error_line,
    guest_error,
    named_error,
    one_line,
    printable,
    whole_words,
)


def test_a_text_is_cut_to_its_bound_with_a_mark() -> None:
    assert (cut("abcde", 5), cut("abcdef", 5)) == ("abcde", "abcd…")
    assert cut_counted("abcde", 5) == "abcde"
    assert cut_counted("x" * 1_205, 5) == "xxxxx… [1,200 characters more]"


def test_no_word_is_parted_by_a_cut_before_redaction() -> None:
    assert whole_words("one two", 7) == "one two"
    assert [whole_words("one two three", n) for n in (3, 5, 7, 9)] == ["one", "one", "one two", "one two"]
    assert whole_words("x" * 20, 5) == "xxxxx"
    assert whole_words('{"key":"abcdef"}', 10) == '{"key":'


def test_what_nothing_shows_is_told_by_its_number() -> None:
    assert printable("a\u202eb\x1b[2J\u3164c\ufe01\U000e0101\nd") == ("a\\u202eb\\x1b[2J\\u3164c\\ufe01\\U000e0101\nd")
    assert printable("❤️ déjà 1️⃣") == "❤️ déjà 1️⃣"


def test_an_error_is_told_on_one_line() -> None:
    assert one_line(" a\n\tb  c ") == "a b c"
    assert error_line(ValueError("a\n b")) == "a b"
    assert error_line(ValueError()) == "ValueError"
    assert named_error(ValueError("a")) == "ValueError: a"


def test_a_cells_error_is_told_without_the_head_of_its_traceback() -> None:
    traceback = 'Traceback (most recent call last):\n  Cell 1, line 1\nshop.errors.Sold: "jam"'
    error = CodeError(traceback, type="Sold", message='"jam"')
    assert guest_error(error) == '  Cell 1, line 1\nSold: "jam"'
    assert guest_error(TypeMistake("line 1: no")) == "Not run. line 1: no"


def test_a_long_text_is_read_page_by_page_and_the_oldest_is_forgotten() -> None:
    texts = LongTexts(limit=8, most_chars=20)
    texts.put("a", "0123456789")
    assert texts.page("a", 0) == "012345\n… [4 more: start=6]"
    assert texts.page("a", 6) == "6789"
    texts.put("b", "x" * 15)
    assert texts.page("a", 0) is None
    assert texts.page("b", 14) == "x"
