"""Policies: which calls are allowed, asked for, denied."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.gateway.shops import Order, Shop, Upstream, connected, no, opened, run, search, yes

from cellwright import operation
from cellwright.connectors import ListedSurface
from cellwright.gateway import Gateway
from cellwright.gateway.policy_rules import apply_policy, compressed
from cellwright.guard import PolicySubject, is_destructive, policy_from
from cellwright.scope import Place, Scope

pytestmark = pytest.mark.usefixtures("warm")


def rules(*found: dict[str, str], default: str = "allow") -> Any:
    return policy_from({"rules": list(found), "default": default}, "this policy")


# what it does to code and to search


async def test_what_is_denied_is_neither_called_nor_found() -> None:
    shop = Shop()
    policy = rules({"pattern": "shop.delete", "action": "deny"})
    async with connected(opened(shop=shop), policy=policy) as client:
        done = await run(client, "shop.delete(1)")
        assert not done["ok"]
        assert "denied by the policy (rule 1 (shop.delete): deny)" in done["error"]
        assert "shop.delete(" not in await search(client, "delete an order")
        assert (await run(client, "shop.orders()"))["value"] == ["tea", "milk"]
    assert shop.deleted == []


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_what_asks_is_made_when_the_user_says_yes(era: str) -> None:
    shop = Shop()
    asked: list[str] = []

    def answer(message: str) -> Any:
        asked.append(message)
        return yes(message) if "(1)" in message else no(message)

    policy = rules({"kind": "writes", "action": "ask"})
    async with connected(opened(shop=shop), era=era, answer=answer, policy=policy) as client:
        assert (await run(client, "shop.delete(1)"))["value"] == "deleted 1"
        refused = await run(client, "shop.delete(2)")
        assert "declined" in refused["error"]
        assert (await run(client, "shop.orders()"))["ok"]
    assert shop.deleted == [1]
    assert asked == ["Code wants to call shop.delete(1). Allow it?", "Code wants to call shop.delete(2). Allow it?"]


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_without_a_user_to_ask_the_answer_is_no_and_says_so(era: str) -> None:
    shop = Shop()
    async with connected(opened(shop=shop), era=era, policy=rules({"kind": "writes", "action": "ask"})) as client:
        done = await run(client, "shop.delete(1)")
    assert "this client cannot ask its user" in done["error"]
    assert shop.deleted == []


async def test_objects_that_calls_return_are_asked_about_too() -> None:
    policy = rules({"kind": "writes", "action": "ask"})
    async with connected(opened(shop=Shop()), policy=policy) as client:
        assert "cannot ask its user" in (await run(client, "shop.order(1).cancel()"))["error"]


async def test_a_default_of_deny_leaves_what_is_allowed_and_nothing_else() -> None:
    shop = Shop()
    policy = rules({"pattern": "shop.order*", "action": "allow"}, default="deny")
    async with connected(opened(shop=shop), policy=policy) as client:
        assert (await run(client, "shop.orders()"))["value"] == ["tea", "milk"]
        assert "hidden" in (await run(client, "shop.order(1).cancel()"))["error"]
        for code in ("shop.create('x')", "shop.delete(1)"):
            assert "denied by the policy (no rule; default: deny)" in (await run(client, code))["error"], code
        assert (await run(client, "len(search('orders')) > 0"))["value"] is True
    assert shop.deleted == []


async def test_read_only_leaves_what_is_known_to_read() -> None:
    shop = Shop()
    async with connected(opened(shop=shop), read_only=True) as client:
        assert (await run(client, "shop.orders()"))["ok"]
        assert "read-only" in (await run(client, "shop.delete(1)"))["error"]
        assert "shop.create(" not in await search(client, "make an order")
    assert shop.deleted == []


async def test_operations_of_an_upstream_follow_the_policy() -> None:
    api = Upstream("users.get", "users.list", "users.create", "users.delete", "posts.delete", "posts.list")
    policy = rules(
        {"pattern": "api.posts.*", "action": "allow"},
        {"kind": "destructive", "action": "deny"},
        {"kind": "writes", "action": "ask"},
    )
    async with connected(opened(api=api), policy=policy, answer=yes) as client:
        assert (await run(client, "api.users.get()"))["ok"]
        assert (await run(client, "api.users.create()"))["ok"]
        assert (await run(client, "api.posts.delete()"))["ok"]
        assert not (await run(client, "api.users.delete()"))["ok"]
    assert api.called == ["users.get", "users.create", "posts.delete"]


async def test_an_upstream_under_a_default_of_deny_shows_what_is_allowed() -> None:
    api = Upstream("users.get", "users.delete", "posts.list")
    policy = rules({"pattern": "api.users.get", "action": "allow"}, default="deny")
    async with connected(opened(api=api), policy=policy) as client:
        assert (await run(client, "api.users.get()"))["ok"]
        assert not (await run(client, "api.users.delete()"))["ok"]
        assert not (await run(client, "api.posts.list()"))["ok"]
    assert api.called == ["users.get"]


VERBS = ("get", "list", "create", "delete", "delete_all", "set", "run")
SPACES = ("", "a.", "a.b.", "delete.", "set_up.")
POLICIES = [
    rules({"kind": "writes", "action": "ask"}, {"pattern": "*.get*", "action": "allow"}),
    rules({"kind": "destructive", "action": "deny"}, {"kind": "writes", "action": "ask"}),
    rules({"kind": "reads", "action": "allow"}, default="deny"),
    rules({"pattern": "api.a.*", "action": "allow"}, {"kind": "reads", "action": "ask"}, default="deny"),
    rules({"pattern": "*.create", "action": "deny"}, {"pattern": "api.a.b.*", "action": "deny"}, default="ask"),
]


@pytest.mark.parametrize("fixed", [(), ("api",)], ids=["may change", "fixed"])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_scope_shows_what_the_policy_does_not_deny(policy: Any, fixed: tuple[str, ...]) -> None:
    paths = [f"{space}{verb}{end}" for space in SPACES for verb in VERBS for end in ("", "_thing", "_other")]
    api = Upstream(*paths)
    scope = Scope({"api": api})
    apply_policy(policy, scope, fixed=fixed)
    for one in api.surface.listed():
        space, _, name = f"api.{one.path}".rpartition(".")
        place = Place(space, Upstream)
        asked = PolicySubject(
            name=f"api.{one.path}", reads=one.reads, destructive=one.destroys or is_destructive(one.path)
        )
        verdict = scope.rules.verdict(place, name)
        refused = not verdict.visible or (verdict.read_only and not one.reads)
        assert refused == (policy.mildest(asked) == "deny"), one.path


async def test_an_upstream_of_very_many_operations_follows_the_policy_too() -> None:
    many = [f"space{n % 7}.word{n}" for n in range(250)]
    api = Upstream("users.list", "users.delete", "users.list_all", *many)
    asked: list[str] = []

    def answer(message: str) -> Any:
        asked.append(message)
        return no(message)

    policy = rules({"kind": "destructive", "action": "deny"}, {"kind": "writes", "action": "ask"})
    async with connected(opened(api=api, kind="openapi"), policy=policy, answer=answer) as client:
        assert (await run(client, "[api.users.list() for _ in range(3)]"))["ok"]
        assert not (await run(client, "api.users.delete()"))["ok"]
        assert "declined" in (await run(client, "api.space0.word7()"))["error"]
        assert "declined" in (await run(client, "call = api.space1.word1\ncall()"))["error"]
        assert "users.delete" not in await search(client, "delete users")
    assert api.called == ["users.list"] * 3
    assert asked == [f"Code wants to call api.{path}(). Allow it?" for path in ("space0.word7", "space1.word1")]


async def test_what_a_preset_hides_stays_hidden_under_a_policy() -> None:
    class Vault:
        token = "hunter2"

        @operation(reads=True)
        def read(self) -> str:
            return "read"

    policy = rules({"pattern": "vault.*", "action": "allow"}, default="deny")
    async with connected(opened(vault=Vault()), policy=policy) as client:
        assert (await run(client, "vault.read()"))["value"] == "read"
        assert "hunter2" not in str(await run(client, "vault.token"))


def test_decisions_that_agree_by_verb_are_few_patterns() -> None:
    denied = {f"api.s{n}.{verb}_thing": verb == "delete" for n in range(50) for verb in ("get", "delete")}
    assert compressed("api", denied) == [("api.*.delete", True), ("api.*.delete_*", True)]


# what is offered later, and beside each other


class Growing(Upstream):
    """Offers more once `grow` is called."""

    async def _invoke(self, path: str, arguments: dict[str, Any]) -> str:
        if path == "grow":
            self.offer("grow", "get_x", "list_new", "wipe_all")
        return await super()._invoke(path, arguments)


@pytest.mark.parametrize(
    "rule",
    [
        {"pattern": "api.wipe*", "action": "deny"},
        {"kind": "destructive", "action": "deny"},
        {"pattern": "*.wipe*", "kind": "writes", "action": "ask"},
    ],
)
async def test_an_operation_added_in_the_middle_of_a_cell_follows_the_rules_at_once(rule: dict[str, str]) -> None:
    api = Growing("grow", "get_x")
    code = "api.grow()\nprint(api.list_new())\napi.wipe_all()"
    async with connected(opened(api=api), policy=rules(rule)) as client:
        assert not (await run(client, code))["ok"]
    assert api.called == ["grow", "list_new"]


async def test_a_server_that_only_read_may_write_later_what_the_policy_allows() -> None:
    api = Upstream("get_x")
    policy = rules({"pattern": "api.set_y", "action": "allow"}, {"kind": "reads", "action": "allow"}, default="deny")
    async with connected(opened(api=api), policy=policy) as client:
        assert (await run(client, "api.get_x()"))["ok"]
        api.offer("get_x", "set_y", "set_z")
        assert (await run(client, "api.set_y()"))["ok"]
        assert not (await run(client, "api.set_z()"))["ok"]
        assert "set_y" in await search(client, "set")
        assert "set_z" not in await search(client, "set")
    assert api.called == ["get_x", "set_y"]


async def test_read_only_holds_for_what_reads_no_more_and_lets_in_what_reads_now() -> None:
    api = Upstream("get_x")
    async with connected(opened(api=api), read_only=True) as client:
        assert (await run(client, "held = api.get_x\nheld()"))["ok"]
        (one,) = api.surface.now.listed()
        api.surface.now = ListedSurface([replace(one, reads=False)])
        for code in ("api.get_x()", "held()"):
            assert "read-only" in (await run(client, code))["error"]
        api.offer("get_x", "get_y")
        assert (await run(client, "api.get_y()"))["ok"]
    assert api.called == ["get_x", "get_y"]


async def test_a_server_that_changes_for_ever_leaves_no_rules_behind() -> None:
    api = Upstream("get_0")
    made: list[Gateway] = []
    async with connected(opened(api=api), policy=rules({"kind": "writes", "action": "ask"}), made=made) as client:
        numbers: set[int] = set()
        for number in range(5):
            api.offer(f"get_{number}", f"set_{number}")
            assert (await run(client, f"api.get_{number}()"))["ok"]
            numbers.add(len(made[0].scope.rules))
    assert len(numbers) == 1


@pytest.mark.parametrize("kind", ["openapi", "mcp"])
async def test_rules_for_objects_and_for_upstreams_do_not_mix(kind: Any) -> None:
    api, shop = Upstream("users.get", "users.delete"), Shop()
    policy = rules(
        {"pattern": "api.users.get", "action": "allow"}, {"pattern": "shop.orders", "action": "allow"}, default="deny"
    )
    async with connected([*opened(shop=shop), *opened(kind, api=api)], policy=policy) as client:
        codes = ("api.users.get()", "shop.orders()", "api.users.delete()", "shop.delete(1)")
        assert [(await run(client, code))["ok"] for code in codes] == [True, True, False, False]
    assert (api.called, shop.deleted) == (["users.get"], [])


async def test_a_listing_leaves_out_namespaces_in_which_everything_is_denied() -> None:
    api = Upstream("users.get", "secret.drop")
    async with connected(opened("mcp", api=api), policy=rules({"kind": "destructive", "action": "deny"})) as client:
        listing = await search(client, "")
    assert "users" in listing
    assert "secret" not in listing


class Drawer:
    """What can be done to it without a method that has a name."""

    def __init__(self, done: list[str]) -> None:
        self.label = "a"
        self._done = done

    def __getitem__(self, key: str) -> int:
        return 1

    def __setitem__(self, key: str, value: int) -> None:
        self._done.append("set")

    def __delitem__(self, key: str) -> None:
        self._done.append("deleted")

    def __iadd__(self, other: int) -> Drawer:
        self._done.append("added")
        return self

    def __call__(self) -> None:
        self._done.append("called")

    @operation(reads=True)
    def inner(self):  # no annotation names what comes
        return Order()

    @operation(reads=True)
    def bound(self):
        return self._note

    def _note(self) -> None:
        self._done.append("noted")


@pytest.mark.parametrize("action", ["ask", "deny"])
async def test_writes_without_a_name_and_of_objects_without_an_annotation_follow_the_rules(action: str) -> None:
    done: list[str] = []
    drawer = Drawer(done)
    writes = ("drawer['a'] = 1", "del drawer['a']", "drawer += 1", "drawer()", "drawer.label = 'b'",
              "drawer.inner().cancel()", "drawer.bound()()")  # fmt: skip
    async with connected(opened(drawer=drawer), policy=rules({"kind": "writes", "action": action})) as client:
        found = {code: (await run(client, code))["ok"] for code in writes}
        assert found == dict.fromkeys(writes, False)
        for code in ("drawer['a']", "drawer.label", "drawer.inner()"):
            assert (await run(client, code))["ok"], code
    assert (done, drawer.label) == ([], "a")


class OpenDrawer(Drawer, dict[str, int]):
    """A container, of which binding grants the items."""


async def test_a_rule_against_what_destroys_leaves_the_rest_of_an_object() -> None:
    done: list[str] = []
    drawer = OpenDrawer(done)
    async with connected(opened(drawer=drawer), policy=rules({"kind": "destructive", "action": "deny"})) as client:
        assert not (await run(client, "del drawer['a']"))["ok"]
        assert (await run(client, "drawer['a'] = 1\ndrawer.label"))["value"] == "a"
    assert done == ["set"]
