"""`Guarded`: what is decided about a call before it is made: hooks, policy, data flow, in this order.

Each may refuse the call; hooks may change its arguments; policy and flow may have a person asked. The answer passes the
hooks again, and its labels reach the session. It knows no guest, and not how a person is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cellwright.doors import About, Answer, Call, Host, Ruling, Wrapper
from cellwright.errors import Denied, NotPublic
from cellwright.guard.flow import FREE, FlowGuard, Hold
from cellwright.guard.given_arguments import GivenArguments
from cellwright.guard.hooks import Hook, run_after, run_before, seen_call
from cellwright.guard.policy import OperationRules, Part, Policy, PolicyDecision, PolicySubject, is_destructive
from cellwright.guard.served_flow import SERVED_FLOW, ServedFlow
from cellwright.journal import WITHHELD, is_effect
from cellwright.scope import ScopeHost


@dataclass(frozen=True, kw_only=True, slots=True)
class GuardRules:
    """What a `Runtime` is guarded by. `user`: for whom it works. `policy` None: what is known of operations decides."""

    policy: Policy | None = None
    hooks: tuple[Hook, ...] = ()
    user: str = ""

    @property
    def is_empty(self) -> bool:
        return self.policy is None and not self.hooks

    def around(self, inner: Host, flow: FlowGuard, host: ScopeHost, session: str, family: str) -> Host:
        """The host under these rules and the data flow; as it is where both are off."""
        off = self.is_empty and flow.mode == "off"
        return inner if off else Guarded(inner, self, flow, host, session, family)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The globs to note in a scope: see `Policy.patterns`."""
        hooked = tuple(hook.operation for hook in self.hooks if hook.operation != "*")
        return hooked if self.policy is None else (*self.policy.patterns, *hooked)

    def hooks_of(self, about: About, call: Call | None = None) -> tuple[Hook, ...]:
        """To read a function is no call of it."""
        asked, reads = subject_of(about, call), call is not None and call.verb == "get"
        return tuple(hook for hook in self.hooks if asked.is_within(hook.operation, surely=reads))

    def lent(self, about: About) -> str:
        """Why host code may not be given a function of this operation, which it would call past these; "" else."""
        if self.hooks_of(about):
            return "has a hook"
        return "" if self.policy is None else self.policy.lent(subject_of(about))

    def denies(self, about: About) -> bool:
        """Whether a rule that names it denies this function, which undoes calls: code decides when it does."""
        decided = None if self.policy is None else self.policy.decide(subject_of(about))
        rule = None if decided is None else decided.rule
        return rule is not None and rule.action == "deny" and rule.operation != "*"


KEPT = 1_000  # operations of which one session keeps what it knows


@dataclass(frozen=True, kw_only=True, slots=True)
class _KnownCalls:
    """What is known of calls of one operation before their arguments are. `came` is what the calls bring with them."""

    came: About
    verb: str
    about: About  # with the labels of the policy
    every_name: frozenset[str]  # with the policy's patterns that cover it
    hooks: tuple[Hook, ...]
    rules: OperationRules | None  # None: no policy is about them
    has_arguments: bool  # which decide
    rulings: dict[tuple[int, tuple[str, ...]], Ruling]


class Guarded(Wrapper):
    """For one guest. `host` tells names of parameters and fields. Limits of a session are those of its `family`, the
    first session whose code spawned agents down to this one.
    """

    def __init__(
        self, inner: Host, rules: GuardRules, flow: FlowGuard, host: ScopeHost, session: str, family: str = ""
    ) -> None:
        super().__init__(inner)
        self._rules = rules
        self._flow = flow
        self._host = host
        self._session = session
        self._family = family or session
        self._calls: dict[int, _KnownCalls] = {}  # by the id of what a call brings with it

    async def call(self, call: Call) -> Answer:
        if call.refused is not None or call.verb in FREE:
            return await self._labelled(call, GivenArguments(call, self._host))
        if self._rules.is_empty and not call.about.operation.open_world and self._flow.is_idle(call):
            return await self._labelled(call, GivenArguments(call, self._host))  # host code may run another session
        known = self._known(call)
        if known.about is not call.about:
            call = replace(call, about=known.about)
        given = GivenArguments(call, self._host)
        seen = seen_call(call, self._rules.user, self._session) if known.hooks else None
        if seen is not None:
            call = await run_before(known.hooks, call, seen)
            given = GivenArguments(call, self._host)
        if call.refused is None:
            call = await self._ruled(call, known, given)
        answer = await self._labelled(call, given)
        if seen is not None and not answer.failed and call.refused is None:
            after = await run_after(known.hooks, call, seen, answer)
            if isinstance(after, Denied):
                after = await self.inner.call(replace(call, refused=after))
            labels = answer.labels if after is answer else (*answer.labels, WITHHELD)
            answer = replace(after, labels=labels, sent=answer.sent)
        return answer

    def _known(self, call: Call) -> _KnownCalls:
        known = self._calls.get(id(call.about))
        if known is not None and known.came is call.about and known.verb == call.verb:
            return known
        about, policy = self._flow.labelled(call.about), self._rules.policy
        subject, rules = replace(subject_of(about, call), user=self._rules.user), None
        if policy is not None and not about.operation.own:
            rules = policy.rules_of(subject)
        known = _KnownCalls(
            came=call.about,
            verb=call.verb,
            about=about,
            every_name=about.patterns | subject.every_name,
            hooks=self._rules.hooks_of(about, call) if self._rules.hooks else (),
            rules=rules,
            has_arguments=rules is not None and rules.has_arguments,
            rulings={},
        )
        if len(self._calls) >= KEPT:
            self._calls.clear()
        self._calls[id(call.about)] = known
        return known

    async def _ruled(self, call: Call, known: _KnownCalls, given: GivenArguments) -> Call:
        """The call with what policy and flow say of it."""
        policy, flow, user = self._rules.policy, self._flow, self._rules.user
        labels, decided = flow.reached, None
        if policy is not None and known.rules is not None:
            decided = known.rules.decide(await given.values() if known.has_arguments else None, labels, user)
        ruling = self._ruling(known, decided, labels)
        if decided is not None and decided.action == "deny":
            return replace(call, ruling=ruling, refused=Denied(_refusal(call, decided)))
        hold = await flow.hold(call, given, named=ruling.allows)
        held = None if hold is None else self._held(call, ruling, hold)
        if held is not None and held.refused is not None:
            return held
        if decided is not None and policy is not None:
            path = f"{self._session} {call.path}" if call.path else ""
            spent = policy.rate_limits.refused(known.every_name, self._family, user, path)
            if spent:
                return replace(call, ruling=ruling, refused=Denied(spent))
        if held is not None:
            return held
        # said only where it answers a question: a call of a method that needs no yes is looked up once for all
        return replace(call, ruling=ruling, approved=ruling.allows and call.about.operation.ask)

    def _ruling(self, known: _KnownCalls, decided: PolicyDecision | None, labels: tuple[str, ...]) -> Ruling:
        """What the policy decided, as a call carries it: the same for all calls that it decides alike."""
        key = id(decided), labels
        ruling = known.rulings.get(key)
        if ruling is None:
            ruling = Ruling(user=self._rules.user, labels=labels)
            if decided is not None:
                asks, rule = decided.action == "ask", decided.rule
                allows = decided.action == "allow" and rule is not None and rule.operation != "*"
                why = rule.why if asks and rule is not None else ""
                ruling = replace(ruling, rule=decided.text, asks=asks, allows=allows, why=why)
            known.rulings[key] = ruling
        return ruling

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

    async def _labelled(self, call: Call, given: GivenArguments) -> Answer:
        """Make the call. Its labels reach the session before its answer does."""
        flow = self._flow
        if flow.mode == "off":
            answer = await self.inner.call(call)
            return answer if call.asked is None else replace(answer, sent=call.arguments)
        served = ServedFlow(guard=flow, labels=await flow.passed(given))
        if call.refused is None and not flow.is_idle(call):
            await flow.begins(call, given)
        token = SERVED_FLOW.set(served)
        try:
            answer = await self.inner.call(call)
        finally:
            SERVED_FLOW.reset(token)
        labels = answer.labels
        if call.refused is None and not answer.refused and (served.labels or not flow.is_idle(call)):
            labels = await flow.delivered(call, given, answer, served.labels)
        if not labels and call.asked is None:
            return answer
        return replace(answer, labels=labels, sent=None if call.asked is None else call.arguments)


def subject_of(about: About, call: Call | None = None) -> PolicySubject:
    """An operation as a policy knows it, or a call of it as far as its name tells."""
    removes = call is not None and (call.verb == "del" or call.name == "__delitem__")
    names = [about.known_as] if about.known_as else []
    if call is not None and call.verb == "call" and not call.name:
        names.append(f"{about.title}.__call__")  # a rule for all that an object has is about this too
    return PolicySubject(
        name=about.title,
        names=frozenset(names),
        patterns=about.patterns,
        reads=about.operation.reads or (call is not None and _is_step(call)),
        destructive=about.operation.destructive or removes or is_destructive(about.title),
        part="" if call is None else _part(about, call),
    )


def _is_step(call: Call) -> bool:
    """Whether it waits for what a call gave, or takes the next of it, which was decided with that call."""
    if call.verb == "await":
        return True
    return call.verb in ("items", "op") and not is_effect(call.verb, call.name, call.about.operation)


def _part(about: About, call: Call) -> Part:
    if call.verb == "new":
        return "data" if about.data else ""
    if call.verb == "call" or not (about.operation.reads or _is_step(call)):
        return ""
    if "#" in about.title:  # of an object that a call gave
        return "data"
    return "member" if call.verb == "get" else ""


def _refusal(call: Call, decided: PolicyDecision) -> str:
    why = decided.rule.why if decided.rule is not None else ""
    return f"{call.about.title} was denied by the policy ({decided.text})" + (f": {why}" if why else "")
