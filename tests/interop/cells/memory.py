made = memory.create_entities(
    entities=[
        {"name": "Ada", "entityType": "person", "observations": ["writes programs"]},
        {"name": "Engine", "entityType": "machine", "observations": ["has brass wheels"]},
    ]
)
assert [entity.name for entity in made.entities] == ["Ada", "Engine"]
memory.create_relations(relations=[{"from": "Ada", "to": "Engine", "relationType": "programs"}])
memory.add_observations(observations=[{"entityName": "Ada", "contents": ["lives in London"]}])

graph = memory.read_graph()
assert len(graph.entities) == 2 and len(graph.relations) == 1
assert graph.relations[0]["from"] == "Ada" and graph.relations[0].relationType == "programs"
found = memory.search_nodes(query="London")
assert [entity.name for entity in found.entities] == ["Ada"]
assert memory.open_nodes(names=["Engine"]).entities[0].observations == ["has brass wheels"]

memory.delete_observations(deletions=[{"entityName": "Ada", "observations": ["lives in London"]}])
assert memory.open_nodes(names=["Ada"]).entities[0].observations == ["writes programs"]
memory.delete_relations(relations=[{"from": "Ada", "to": "Engine", "relationType": "programs"}])
memory.delete_entities(entityNames=["Engine"])
left = memory.read_graph()
assert [entity.name for entity in left.entities] == ["Ada"] and left.relations == []
