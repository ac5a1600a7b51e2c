sqlite.create_table(query="CREATE TABLE city (name TEXT, people INTEGER)")
sqlite.write_query(query="INSERT INTO city VALUES ('Oslo', 717710), ('Bergen', 291940)")
assert "city" in str(sqlite.list_tables())
assert "people" in str(sqlite.describe_table(table_name="city"))
rows = sqlite.read_query(query="SELECT name FROM city WHERE people > 500000")
assert "Oslo" in str(rows) and "Bergen" not in str(rows), rows
assert "added" in sqlite.append_insight(insight="Oslo is the larger one").lower()
assert "Oslo is the larger one" in sqlite.resources.read("memo://insights")
