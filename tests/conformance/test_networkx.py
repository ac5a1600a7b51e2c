"""`networkx`: a graph on the host, built, walked and asked from the guest; algorithms come from the bound module."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest
from tests.cells import value


def towns() -> nx.Graph[Any]:
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_node("oslo", size=7)
    graph.add_edge("oslo", "bergen", weight=4)
    graph.add_edge("bergen", "voss", weight=1)
    graph.add_edge("oslo", "voss", weight=9)
    return graph


async def on_graph(code: str) -> Any:
    return await value(code, G=towns(), nx=nx)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("list(G.nodes), len(G), 'oslo' in G, G.number_of_edges()", (["oslo", "bergen", "voss"], 3, True, 3)),
        ("sorted(G.edges(data='weight'))[0]", ("bergen", "voss", 1)),
        ("[(u, v, d['weight']) for u, v, d in G.edges(data=True)][0]", ("oslo", "bergen", 4)),
        ("G['oslo']['bergen']['weight'], G.edges['oslo', 'voss']['weight'], G.nodes['oslo']['size']", (4, 9, 7)),
        ("dict(G.degree), G.degree['oslo'], G.degree('voss')", ({"oslo": 2, "bergen": 2, "voss": 2}, 2, 2)),
        ("sorted(G.neighbors('oslo')), sorted(G.adj['voss'])", (["bergen", "voss"], ["bergen", "oslo"])),
        ("[n for n in G], list(G.nodes.data('size'))[0]", (["oslo", "bergen", "voss"], ("oslo", 7))),
        ("{n: sorted(near) for n, near in G.adjacency()}['voss']", ["bergen", "oslo"]),
        ("G.nodes & {'oslo', 'rome'}, set(G.nodes) - {'oslo'}", ({"oslo"}, {"bergen", "voss"})),
    ],
)
async def test_views_of_nodes_and_edges_are_read_as_the_tutorial_reads_them(code: str, expected: object) -> None:
    assert await on_graph(code) == expected


async def test_nodes_and_edges_are_added_and_removed() -> None:
    code = """
        G.add_node("rome", size=30)
        G.add_edges_from([("rome", "pisa"), ("pisa", "oslo", {"weight": 2})])
        G.add_nodes_from(name for name in ["kiel", "bonn"])
        G.remove_node("voss")
        sorted(G), G.edges["pisa", "oslo"]["weight"], G.has_edge("oslo", "voss")
    """
    assert await on_graph(code) == (["bergen", "bonn", "kiel", "oslo", "pisa", "rome"], 2, False)


async def test_attributes_are_written_through_the_graphs_own_functions() -> None:
    code = """
        G.add_node("oslo", size=8, capital=True)
        nx.set_node_attributes(G, {"voss": 1, "bergen": 3}, "size")
        nx.set_edge_attributes(G, {("oslo", "voss"): {"weight": 2}})
        nx.get_node_attributes(G, "size"), G.nodes["oslo"]["capital"], G.edges["oslo", "voss"]["weight"]
    """
    assert await on_graph(code) == ({"oslo": 8, "bergen": 3, "voss": 1}, True, 2)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("nx.shortest_path(G, 'oslo', 'voss', weight='weight')", ["oslo", "bergen", "voss"]),
        ("nx.shortest_path_length(G, 'oslo', 'voss', weight='weight')", 5),
        ("nx.is_connected(G), nx.density(G), nx.diameter(G)", (True, 1.0, 1)),
        ("max(nx.connected_components(G), key=len)", {"oslo", "bergen", "voss"}),
        ("sorted(nx.degree_centrality(G).items())[0]", ("bergen", 1.0)),
        ("sorted(nx.minimum_spanning_tree(G).edges(data='weight'))", [("bergen", "voss", 1), ("oslo", "bergen", 4)]),
        ("[list(layer) for layer in nx.bfs_layers(G, 'oslo')][0]", ["oslo"]),
        ("dict(nx.all_pairs_shortest_path_length(G))['oslo']", {"oslo": 0, "bergen": 1, "voss": 1}),
    ],
)
async def test_algorithms_of_the_bound_module_run_on_the_hosts_graph(code: str, expected: object) -> None:
    assert await on_graph(code) == expected


async def test_a_guest_lambda_is_the_weight_of_an_edge() -> None:
    code = "nx.shortest_path(G, 'oslo', 'voss', weight=lambda u, v, data: 10 - data['weight'])"
    assert await on_graph(code) == ["oslo", "voss"]


async def test_graphs_are_made_from_the_modules_classes() -> None:
    code = """
        D = nx.DiGraph()
        D.add_edges_from((i, i + 1) for i in range(4))
        order = list(nx.topological_sort(D))
        order, isinstance(D, nx.DiGraph), isinstance(D, nx.Graph), isinstance(G, nx.DiGraph), nx.path_graph(3).size()
    """
    assert await on_graph(code) == ([0, 1, 2, 3, 4], True, True, False, 2)


async def test_errors_are_caught_by_the_modules_classes() -> None:
    code = """
        caught = []
        try:
            nx.shortest_path(G, "oslo", "rome")
        except nx.NodeNotFound as error:
            caught.append("rome" in str(error))
        try:
            G.remove_node("rome")
        except nx.NetworkXException as error:
            caught.append(type(error) is nx.NetworkXError)
        caught
    """
    assert await on_graph(code) == [True, True]


async def test_a_graph_as_a_cells_value_is_the_hosts_own_graph() -> None:
    graph = towns()
    assert await value("G.graph, G", G=graph) == ({}, graph)
    sub = await value("G.subgraph(['oslo', 'voss']).copy()", G=graph)
    assert sorted(sub.edges) == [("oslo", "voss")]
