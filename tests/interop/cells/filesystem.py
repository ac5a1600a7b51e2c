here = FOLDER + "/files"
filesystem.create_directory(path=here + "/notes")
filesystem.write_file(path=here + "/notes/one.txt", content="alpha\nbeta\ngamma\n")
filesystem.write_file(path=here + "/notes/two.txt", content="zwei, ümlaut\n")

assert filesystem.read_text_file(path=here + "/notes/one.txt").content == "alpha\nbeta\ngamma\n"
assert filesystem.read_text_file(path=here + "/notes/one.txt", head=1).content.strip() == "alpha"
assert filesystem.read_file(path=here + "/notes/two.txt").content == "zwei, ümlaut\n"
both = filesystem.read_multiple_files(paths=[here + "/notes/one.txt", here + "/notes/two.txt"]).content
assert "gamma" in both and "ümlaut" in both

edited = filesystem.edit_file(path=here + "/notes/one.txt", edits=[{"oldText": "beta", "newText": "delta"}])
assert "+delta" in edited.content and "-beta" in edited.content
assert "delta" in filesystem.read_text_file(path=here + "/notes/one.txt").content

filesystem.move_file(source=here + "/notes/two.txt", destination=here + "/notes/three.txt")
listed = filesystem.list_directory(path=here + "/notes").content
assert "three.txt" in listed and "two.txt" not in listed
assert "one.txt" in filesystem.list_directory_with_sizes(path=here + "/notes", sortBy="size").content
assert "notes" in filesystem.directory_tree(path=here).content
assert "three.txt" in filesystem.search_files(path=here, pattern="**/t*.txt").content
assert "size: " in filesystem.get_file_info(path=here + "/notes/one.txt").content
assert FOLDER in filesystem.list_allowed_directories().content
media = filesystem.read_media_file(path=here + "/pixel.png")
assert "image/png" in str(media), media

try:
    filesystem.read_text_file(path="/etc/hostname")
except Exception as error:
    refused = type(error).__name__ + ": " + str(error)
assert "allowed" in refused, refused
