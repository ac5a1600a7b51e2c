"""The official conformance suite against our client: `conformance_client.py`, on our own connector."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.interop.conformance import NEXT, RELEASED, client_scenarios, failing, run_client

pytestmark = pytest.mark.interop

CLIENT = f"{sys.executable} {Path(__file__).parent / 'conformance_client.py'}"

# Extensions of the protocol that neither the SDK nor our client has: docs/interop.md says more.
EXTENSIONS = {"auth/dpop", "auth/dpop-nonce", "auth/wif-jwt-bearer"}
SKILLS = {  # the suite itself skips them for a client that does not announce skills
    "sep-2640-client-no-prefetch",
    "sep-2640-client-verify-digest",
    "sep-2640-client-verify-size",
    "sep-2640-client-verify-frontmatter",
}


# Its server's metadata name another issuer than where they are, which RFC 8414 says to refuse, and the next suite too.
OF_ANOTHER_ISSUER = "auth/2025-03-26-oauth-metadata-backcompat"
SOME = (
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "auth/metadata-default",
    "auth/scope-step-up",
    "auth/token-endpoint-auth-basic",
    "auth/client-credentials-basic",
)


@pytest.mark.quick
def test_some_scenarios_of_the_released_suite_pass() -> None:
    told = run_client(RELEASED, CLIENT, SOME)
    assert failing(told) == set()
    assert [name for name, (passed, _) in told.items() if not passed] == []


def test_every_scenario_of_the_released_suite_passes_but_for_one_that_contradicts_the_next() -> None:
    told = run_client(RELEASED, CLIENT, client_scenarios(RELEASED))
    assert failing(told) == {OF_ANOTHER_ISSUER}
    assert [name for name, (passed, _) in told.items() if not passed] == []
    assert len(told) >= 26


def test_every_scenario_of_the_next_suite_passes_but_for_extensions() -> None:
    told = run_client(NEXT, CLIENT, client_scenarios(NEXT))
    assert failing(told) == EXTENSIONS
    assert {name for name, (passed, _) in told.items() if not passed} == SKILLS
    assert len(told) >= 48


def test_every_scenario_that_2026_07_28_has_passes_on_its_own_wire() -> None:
    names = client_scenarios(NEXT, "2026-07-28")
    told = run_client(NEXT, CLIENT, names, "--spec-version", "2026-07-28")
    assert failing(told) == set()
    assert [name for name, (passed, _) in told.items() if not passed] == []
    assert len(told) >= 30
