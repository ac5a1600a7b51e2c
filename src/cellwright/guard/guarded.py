"""`Guarded`: what is decided about a call before it is made: hooks, policy, data flow, in this order.

Each may refuse the call; hooks may change its arguments; policy and flow may have a person asked. The answer passes the
hooks again, and its labels reach the session. It knows no guest, and not how a person is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from cellwright.doors import About, Answer, Call, Host, Ruling, Wrapper
from cellwright.errors import Denied, NotPublic
from cellwright.guard.flow import FREE, FlowGuard, Hold
from cellwright.guard.hooks import Hook, read, run_after, run_before, seen_call
from cellwright.guard.policy import Part, Policy, PolicyDecision, PolicySubject, is_destructive
from cellwright.guard.served_flow import SERVED_FLOW, ServedFlow
from cellwright.scope import ScopeHost, named_arguments
from cellwright_guest.wire import WireError, is_large


@dataclass(frozen=True, kw_only=True, slots=True)
class GuardRules:
    """What a `Runtime` is guarded by. `user`: for whom it works. `policy` None: what is known of operations decides."""

    policy: Policy | None = None
    hooks: tuple[Hook, ...] = ()
    user: str = ""

    @property
    def is_empty(self) -> bool:
        return self.policy is None and not self.hooks


class Guarded(Wrapper):
    """For one guest. `host` tells names of parameters and fields, `session` is the id of a kept session."""

    def __init__(self, inner: Host, rules: GuardRules, flow: FlowGuard, host: ScopeHost, session: str) -> None:
        super().__init__(inner)
        self._rules = rules
        self._flow = flow
        self._host = host
        self._session = session

    async def call(self, call: Call) -> Answer:
        if call.refused is not None or call.verb in FREE:
            return await self._labelled(call)
        if (about := self._flow.labelled(call.about)) is not call.about:
            call = replace(call, about=about)
        if self._rules.is_empty and self._flow.is_idle(call):
            return await self._labelled(call)  # host code may run another session
        ruling = Ruling(user=self._rules.user)
        hooks = [hook for hook in self._rules.hooks if hook.covers(_names(call.about))]
        seen = seen_call(call, ruling, self._session) if hooks else None
        if seen is not None:
            call = await run_before(hooks, call, seen)
        if call.refused is None:
            call = await self._ruled(call, ruling)
        answer = await self._labelled(call)
        if seen is not None and not answer.failed and call.refused is None:
            after = await run_after(hooks, call, seen, answer)
            if isinstance(after, Denied):
                after = await self.inner.call(replace(call, refused=after))
            answer = replace(after, labels=answer.labels, sent=answer.sent)
        return answer

    async def _ruled(self, call: Call, ruling: Ruling) -> Call:
        """The call with what policy and flow say of it."""
        policy, flow = self._rules.policy, self._flow
        ruling = replace(ruling, labels=flow.reached)
        if policy is not None and not call.about.operation.own:
            decided = policy.decide(await self._subject(call, policy, ruling))
            ruling = replace(ruling, rule=decided.text)
            why = decided.rule.why if decided.rule is not None else ""
            refused = _refusal(call, decided) if decided.action == "deny" else self._spent(call, policy)
            if refused:
                return replace(call, ruling=ruling, refused=Denied(refused))
            asks = decided.action == "ask"
            named = decided.rule is not None and decided.rule.operation != "*"
            ruling = replace(ruling, asks=asks, allows=named and not asks, why=why if asks else "")
        hold = await flow.hold(call, named=ruling.allows)
        if hold is not None:
            return self._held(call, ruling, hold)
        return replace(call, ruling=ruling, approved=ruling.allows)

    def _spent(self, call: Call, policy: Policy) -> str:
        """Why the policy's limits leave no call; "" where one is left, which is counted."""
        about = call.about
        return policy.rate_limits.refused({*_names(about), *about.patterns}, self._session, self._rules.user)

    def _held(self, call: Call, ruling: Ruling, hold: Hold) -> Call:
        if refusal := self._host.refusal(call):  # nobody is asked about what the scope does not give
            return replace(call, ruling=ruling, refused=NotPublic(f"{call.about.title} is refused: {refusal}"))
        rule = f"data flow ({self._flow.mode}): {hold.why}"
        if self._flow.mode == "warn":
            self._flow.warn(f"{call.about.title} was not held: {hold.why}")
            return replace(call, ruling=replace(ruling, rule=rule), approved=ruling.allows)
        if self._flow.mode == "deny":
            return replace(call, ruling=replace(ruling, rule=rule), refused=Denied(f"{call.about.title}: {hold.why}"))
        return replace(
            call, ruling=replace(ruling, rule=rule, allows=False, asks=True, why=hold.why, key=hold.key, own=hold.own)
        )

    async def _subject(self, call: Call, policy: Policy, ruling: Ruling) -> PolicySubject:
        subject = replace(subject_of(call.about, call), labels=frozenset(ruling.labels), user=ruling.user)
        if not policy.parameters:
            return subject
        named = named_arguments(call.arguments, self._host.parameters(call))

        def values() -> dict[str, Any]:
            try:
                return {name: read(one) for name, one in named.items() if name in policy.parameters}
            except WireError:  # what no honest guest sends is told by whoever makes the call
                return {}

        given = await asyncio.to_thread(values) if is_large(call.arguments) else values()
        return replace(subject, arguments=given)

    async def _labelled(self, call: Call) -> Answer:
        """Make the call. Its labels reach the session before its answer does."""
        flow = self._flow
        if flow.mode == "off":
            answer = await self.inner.call(call)
            return answer if call.asked is None else replace(answer, sent=call.arguments)
        served = ServedFlow(guard=flow, labels=await flow.passed(call))
        if call.refused is None and not flow.is_idle(call):
            await flow.begins(call)
        token = SERVED_FLOW.set(served)
        try:
            answer = await self.inner.call(call)
        finally:
            SERVED_FLOW.reset(token)
        labels = answer.labels
        if call.refused is None and (served.labels or not flow.is_idle(call)):
            labels = await flow.delivered(call, answer, served.labels)
        if not labels and call.asked is None:
            return answer
        return replace(answer, labels=labels, sent=None if call.asked is None else call.arguments)


def subject_of(about: About, call: Call | None = None) -> PolicySubject:
    """An operation as a policy knows it, or a call of it as far as its name tells."""
    removes = call is not None and (call.verb == "del" or call.name == "__delitem__")
    return PolicySubject(
        name=about.title,
        names=frozenset(_names(about)),
        patterns=about.patterns,
        reads=about.operation.reads,
        destructive=about.operation.destructive or removes or is_destructive(about.title),
        part="" if call is None else _part(about, call.verb),
    )


def _part(about: About, verb: str) -> Part:
    if verb == "new":
        return "data" if about.data else ""
    if verb == "call" or not about.operation.reads:
        return ""
    if "#" in about.title:  # of an object that a call gave
        return "data"
    return "member" if verb == "get" else ""


def _refusal(call: Call, decided: PolicyDecision) -> str:
    why = decided.rule.why if decided.rule is not None else ""
    return f"{call.about.title} was denied by the policy ({decided.text})" + (f": {why}" if why else "")


def _names(about: About) -> Sequence[str]:
    return [name for name in dict.fromkeys((about.title, about.known_as)) if name]
