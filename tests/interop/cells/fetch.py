page = fetch.fetch(url=PAGE)
assert "# A heading" in page and "Some" in page and "<h1>" not in page, page
raw = fetch.fetch(url=PAGE, raw=True)
assert "<h1>A heading</h1>" in raw, raw
part = fetch.fetch(url=PAGE, max_length=5)
assert "truncated" in part, part
