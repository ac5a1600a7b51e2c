"""Where operations stand: names of real descriptions, as they should read."""

from __future__ import annotations

import random

import pytest

from cellwright.openapi.name_words import argument_name, words
from cellwright.openapi.operation_names import operation_paths
from cellwright.openapi.path_names import OperationLabel

GITHUB = [
    ("post", "/repos/{owner}/{repo}/issues", "issues/create", "issues", "issues.create"),
    ("get", "/user/issues", "issues/list-for-authenticated-user", "issues", "issues.list_for_authenticated_user"),
    ("get", "/codes_of_conduct", "codes-of-conduct/get-all-codes-of-conduct", "codes-of-conduct",
     "codes_of_conduct.get_all"),
    ("post", "/user/repos/import", "repos/import", "repos", "repos.import_"),
]  # fmt: skip
STRIPE = [
    ("post", "/v1/customers", "PostCustomers", "", "customers.create"),
    ("get", "/v1/customers", "GetCustomers", "", "customers.list"),
    ("get", "/v1/customers/{customer}", "GetCustomersCustomer", "", "customers.get"),
    ("post", "/v1/customers/{customer}", "PostCustomersCustomer", "", "customers.update"),
    ("delete", "/v1/customers/{customer}", "DeleteCustomersCustomer", "", "customers.delete"),
    ("get", "/v1/customers/search", "GetCustomersSearch", "", "customers.search"),
    ("get", "/v1/customers/{customer}/tax_ids", "GetCustomersCustomerTaxIds", "", "customers.tax_ids.list"),
    ("post", "/v1/charges/{charge}/capture", "PostChargesChargeCapture", "", "charges.capture"),
    ("get", "/v1/balance", "GetBalance", "", "balance.get"),
    ("post", "/v1/test_helpers/refunds/{refund}/expire", "PostTestHelpersRefundsRefundExpire", "",
     "test_helpers.refunds.expire"),
]  # fmt: skip
KUBERNETES = [
    ("post", "/api/v1/namespaces/{namespace}/pods", "createCoreV1NamespacedPod", "core_v1",
     "core_v1.create_namespaced_pod"),
    ("get", "/api/v1/", "getCoreV1APIResources", "core_v1", "core_v1.get_api_resources"),
    ("get", "/apis/apps/v1/deployments", "listAppsV1DeploymentForAllNamespaces", "apps_v1",
     "apps_v1.list_deployment_for_all_namespaces"),
]  # fmt: skip
SLACK = [
    ("post", "/chat.postMessage", "chat_postMessage", "chat", "chat.post_message"),
    ("get", "/admin.teams.list", "admin_teams_list", "admin.teams", "admin.teams.list"),
    ("get", "/files.info", "files_info", "files", "files.info"),
]
TWILIO = [
    ("get", "/2010-04-01/Accounts/{AccountSid}/Calls.json", "ListCall", "Api20100401Call", "call.list"),
    ("post", "/2010-04-01/Accounts/{AccountSid}/Calls.json", "CreateCall", "Api20100401Call", "call.create"),
    ("delete", "/2010-04-01/Accounts/{AccountSid}/Calls/{CallSid}/Recordings/{Sid}.json", "DeleteCallRecording",
     "Api20100401Recording", "recording.delete_call_recording"),
]  # fmt: skip
GRAPH = [
    ("get", "/me/messages", "me.ListMessages", "me.message", "me.list_messages"),
    ("get", "/users/{user-id}/messages", "users.ListMessages", "users.message", "users.list_messages"),
    ("post", "/users/{user-id}/messages/{message-id}/microsoft.graph.copy", "users.user.messages.message.copy",
     "users.Actions", "users.messages.copy"),
    ("get", "/schools/$count", "Get.Count.schools-c02b", "", "schools.count"),
]  # fmt: skip
GOOGLE = [
    ("get", "/gmail/v1/users/{userId}/labels", "gmail.users.labels.list", "users", "users.labels.list"),
    ("get", "/gmail/v1/users/{userId}/labels/{id}", "gmail.users.labels.get", "users", "users.labels.get"),
    ("get", "/gmail/v1/users/{userId}/profile", "gmail.users.getProfile", "users", "users.get_profile"),
]
TAGGED = [
    ("get", "/goals", "getGoals", "Goals", "goals.list"),
    ("get", "/goals/{goal_gid}", "getGoal", "Goals", "goals.get"),
    ("post", "/tasks/{task_gid}/removeTag", "removeTagForTask", "Tasks", "tasks.remove_tag"),
    ("post", "/groups", "groupCreate", "Groups", "groups.create"),
    ("get", "/audiobooks/{id}", "get-an-audiobook", "Audiobooks", "audiobooks.get"),
    ("get", "/sub/vms", "VirtualMachines_ListByLocation", "VirtualMachines", "virtual_machines.list_by_location"),
]
FASTAPI = [
    ("post", "/flows/", "create_flow_flows__post", "Flows", "flows.create"),
    ("get", "/flows/{id}", "read_flow_flows__id__get", "Flows", "flows.read"),
]
BARE = [
    ("get", "/api/v2/pets", "", "", "pets.list"),
    ("get", "/api/v2/pets/{petId}", "", "", "pets.get"),
    ("put", "/api/v2/pets/{petId}", "", "", "pets.update"),
    ("post", "/api/v2/pets/{petId}/feed", "", "", "pets.feed"),
    ("get", "/{bucket}", "ListObjects", "", "list_objects"),
]
FAMILIES = {
    "GitHub": GITHUB, "Stripe": STRIPE, "Kubernetes": KUBERNETES, "Slack": SLACK, "Twilio": TWILIO, "Graph": GRAPH,
    "Google": GOOGLE, "tagged": TAGGED, "FastAPI": FASTAPI, "bare": BARE,
}  # fmt: skip


def entry(method: str, url: str, identity: str = "", tag: str = "") -> OperationLabel:
    return OperationLabel(method=method, url=url, id=identity, tags=(tag,) if tag else ())


@pytest.mark.parametrize("family", FAMILIES)
def test_names_read_as_the_api_is_spoken_of(family: str) -> None:
    listed = FAMILIES[family]
    assert operation_paths([entry(*one[:4]) for one in listed]) == [one[4] for one in listed]


@pytest.mark.parametrize("family", FAMILIES)
def test_names_do_not_depend_on_the_order_of_operations(family: str) -> None:
    listed = FAMILIES[family]
    mixed = random.Random(1).sample(listed, len(listed))
    named = dict(zip((one[:3] for one in mixed), operation_paths([entry(*one[:4]) for one in mixed]), strict=True))
    assert [named[one[:3]] for one in listed] == [one[4] for one in listed]


def test_operations_of_one_name_are_told_apart_by_their_paths() -> None:
    found = operation_paths(
        [
            entry("get", "/repos", "list", "Repos"),
            entry("get", "/orgs/{org}/repos", "list", "Repos"),
            entry("post", "/repos", "list", "Repos"),
        ]
    )
    assert found == ["repos.list", "repos.list_orgs_org", "repos.list_post"]


def test_operations_that_nothing_tells_apart_are_numbered() -> None:
    same = [entry("get", "/a/{x}", "run", "A"), entry("get", "/a/{x}", "run", "A"), entry("get", "/a/{x}", "run", "A")]
    assert len(set(operation_paths(same))) == 3


def test_no_operation_has_the_name_of_a_namespace() -> None:
    found = operation_paths(
        [entry("get", "/files", "a.files"), entry("get", "/files/x", "a.files.list"), entry("get", "/u", "a.u")]
    )
    assert found == ["a.get_files", "a.files.list", "a.u"]


def test_names_are_python_names_whatever_a_description_calls_things() -> None:
    odd = [
        "",
        "1st/2nd",
        "class/def",
        "получить-список",
        "获取/用户",
        "///",
        "a b\tc",
        "🙂",
        "x" * 300,
        "__init__",
        "a..b",
    ]
    for found in operation_paths([entry("get", f"/{n}/{{id}}", one, one) for n, one in enumerate(odd)]):
        assert all(part.isidentifier() and not part.startswith("_") for part in found.split(".")), found


def test_words_are_taken_apart_where_people_see_them() -> None:
    assert words("createCoreV1beta3NamespacedPod") == ("create", "core", "v1beta3", "namespaced", "pod")
    assert words("listVMs_byOAuth2-token") == ("list", "vms", "by", "oauth2", "token")
    assert words("getAPIResources") == ("get", "api", "resources")


def test_arguments_keep_the_spelling_of_their_keys() -> None:
    keys = ["pageToken", "$filter", "filter[status]", "class", "self", "2fa", "X-Request-Id", "имя", "[]"]
    told = ["pageToken", "filter", "filter_status", "class_", "self_", "n2fa", "X_Request_Id", "имя", "value"]
    assert [argument_name(key) for key in keys] == told
