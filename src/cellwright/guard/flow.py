"""`FlowGuard`: decides, call by call, whether untrusted content may have chosen what a call does, and holds it then.

It trusts no text that it looks at: a guest can encode anything. It knows which answers were delivered, which code was
written before them, and where the values come from that say to whom, or on what, a call acts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from cellwright.doors import About, Answer, Call
from cellwright.errors import PlatformError
from cellwright.guard.description_pins import DescriptionPins
from cellwright.guard.flow_policy import FlowMode, FlowPolicy, check_mode
from cellwright.guard.flow_state import FlowState, read_notes
from cellwright.guard.given_arguments import GivenArguments, content_off_loop
from cellwright.guard.hold import Hold, Selecting, Unproven, hold_of
from cellwright.guard.labels import CHOSEN, HIT, LISTED, NARROWED, NONE, PRIVATE, UNTRUSTED, LabelSpec, selecting_part
from cellwright.guard.proofs import home_of, is_place, links_in, normalised
from cellwright.guard.served_flow import ServedFlow
from cellwright.guard.workspace_labels import WorkspaceLabels
from cellwright.journal import TRANSACTION_VERBS, History, is_effect
from cellwright.sandboxes import Outcome
from cellwright.scope import PackedContent, Scalar, ScopeHost
from cellwright.store import Store

FREE = frozenset(("sleep", "about", "dir", *TRANSACTION_VERBS))
_TELLING = "dir"  # whose answer holds names: of what an outsider's object has, the outsider's
QUICK = 1_000  # leaves of a content that are compared on the event loop
UNREAD = 10_000  # characters of code, and of answers, that are read there
_ACTING = ("call", "new", "op", "set", "del")


class FlowGuard:
    """For one session. `own_model`: an `Agent` runs it, so that it is known what the model has read.

    Else every cell counts as influenced, and there are no words of a person.
    """

    def __init__(self, mode: FlowMode | None, host: ScopeHost, rules: FlowPolicy, say: Callable[[str], None]) -> None:
        self.mode: FlowMode = check_mode(mode)
        self._is_said = mode is not None  # somebody chose it: hints count, and a new operation is a changed one
        self.own_model = False
        self.state = FlowState()
        self._host = host
        self._rules = rules
        self.warn = say  # told what is not held, where the mode is "warn"
        self._code: str | None = None  # of the cell that runs
        self._was_influenced = False  # the model, when it wrote that
        self._pins = DescriptionPins(host, strict=self._is_said)
        self._more: Callable[[], None] | None = None  # reads what the journal has, when it is first needed
        self._reading: asyncio.Future[None] | None = None
        self._reached: list[tuple[str, str]] = []  # by no answer: with a session above, a workspace, a description
        self._note: Callable[[str], None] | None = None
        self._files: WorkspaceLabels | None = None

    # what the session does

    def add_words(self, text: str) -> None:
        self.state.add_words(text)

    def model_asked(self) -> None:
        """The model reads all that was shown so far, and the descriptions of operations."""
        self._look_at_descriptions()
        self.state.influenced = self.state.influenced or self.state.shown

    def cell_begins(self, code: str) -> None:
        self._look_at_descriptions()
        for label in self._files.news() if self._files is not None else ():
            self.reach(label, "files of the workspace")
        self._code, self._was_influenced = code, self.state.influenced
        if self.mode != "off":
            self.state.cell_began(code, own_model=self.own_model)

    def cell_ends(self, outcome: Outcome) -> None:
        self._code = None
        self.state.cell_ended(closed=self.state.is_closed(outcome))

    def begin_below(self, above: ServedFlow) -> None:
        """Host code began this session, or a turn of it, while it served a call of another one."""
        if self.mode == "off":
            return
        for label, source in sorted(above.reached):
            if source not in self.state.reached.get(label, ()):
                self.reach(label, source)
        self.state.influenced = self.state.influenced or above.taints_words

    def begin_beside(self, parent: FlowGuard) -> None:
        """A fork is told what its parent was, also of a cell that was cut off, which is not in its own history."""
        for label, source in sorted(parent.state.reached_from - self.state.reached_from):
            self.reach(label, source)
        self.state.shown = self.state.shown or parent.state.shown or parent.state.influenced

    def reach(self, label: str, source: str) -> None:
        """The guest has something that carries this label, and no answer gave it that."""
        self._reached.append((label, source))
        if label == UNTRUSTED and not self.state.untrusted:
            self.state.clean_objects = self._host.objects
        self._mark_files(label)
        self.state.reach(label, source)
        if self._note is not None:
            self._note(f"{label}:{source}")

    def keep(self, note: Callable[[str], None]) -> None:
        """From now on `note` writes down that labels are there: "" for those of answers, which are in the rows."""
        if self._note is None:
            for label, source in self._reached:
                note(f"{label}:{source}")
        self._note = note

    def share(self, files: WorkspaceLabels) -> None:
        """The workspace is a directory that others open too. Blocks; done before there is a guest."""
        if self.mode == "off":
            return
        for label in files.read():
            self.reach(label, "files of the workspace")
        self._files = files

    def _mark_files(self, label: str) -> None:
        """Before the guest has the content, which it may write into any file."""
        if self._files is None or label not in (UNTRUSTED, PRIVATE) or label in self.state.reached:
            return
        try:
            self._files.note(label)
        except PlatformError as error:
            self.warn(f"cellwright: {error}; who opens this workspace later is not told that its files are {label}")

    def _look_at_descriptions(self) -> None:
        if self.mode == "off":
            return
        for name in self._pins.changed():
            self.reach(UNTRUSTED, f"the changed descriptions of {name}")
            self.state.shown = True

    @property
    def is_influenced(self) -> bool:
        """Whether the running code may do what untrusted content says."""
        if not self.own_model or self._was_influenced:
            return True
        return self.state.untrusted and self.state.runs_text

    @property
    def taints_words(self) -> bool:
        """Whether a task that the running code writes for another session is no person's words."""
        return self.mode != "off" and (self.is_influenced or self.state.untrusted)

    @property
    def reached(self) -> tuple[str, ...]:
        """What has reached the session, for policy and audit."""
        labels = [label for label in (UNTRUSTED, PRIVATE) if label in self.state.reached]
        return (*labels, "influenced") if labels and self.is_influenced else tuple(labels)

    # from a journal

    def recall(self, journal: Store, history: History) -> None:
        """What an earlier process had delivered. Blocks; done before the next guest makes a call."""
        notes = [note for part in history.parts for note in read_notes(journal, part)]
        imported = (UNTRUSTED, "an imported session")
        if self.own_model and imported not in self._reached and any(part.facts.imported for part in history.parts):
            self._reached.append(imported)
        self.state, self._more, self._reading = FlowState(), None, None
        for label, source in self._reached:
            self.state.reach(label, source)

        def read() -> None:
            self.state.read_words(journal, history, notes)
            self.state.read_cells(history, self._host.field_names, own_model=self.own_model)
            self._was_influenced = self.state.influenced
            if self._code is not None:  # the guest died between two cells, and the next is about to run
                self.state.cell_began(self._code, own_model=self.own_model)

        if self._reached or any(note.kind == "labelled" for note in notes):
            read()
        else:
            self._more = read

    # calls

    def labelled(self, about: About) -> About:
        """What is known of an operation, with the labels of the policy; and with hints, where a mode was chosen."""
        about = self._rules.labelled(about) if self._rules.labels else about
        if not self._is_said or not about.operation.open_world or about.operation.untrusted is True:
            return about
        return replace(about, operation=replace(about.operation, untrusted=True))

    def is_idle(self, call: Call) -> bool:
        """Whether the flow has nothing to do with a call."""
        if self.mode == "off" or (call.verb in FREE and call.verb != _TELLING):
            return True
        state = self.state
        return not (state.reached or state.specs or call.about.operation.has_labels)

    async def hold(self, call: Call, given: GivenArguments, *, named: bool = False) -> Hold | None:
        """Why a call is not to be made without a person's yes; None where nothing is unusual.

        `named`: the policy allows this operation by its name, which proves that it may be called, not on what.
        """
        state, operation = self.state, call.about.operation
        if call.verb in FREE or not (state.reached or state.specs):
            return None
        own = state.specs.get(call.target, NONE).private or PRIVATE in await self.passed(given)
        if own and not state.private:
            self.reach(PRIVATE, call.about.title)  # host code may read the object, and send out what it says
        sends = operation.outward is not False and state.private and self.is_influenced
        if not sends and not state.untrusted:
            return None
        acting = _acts(call)
        if not sends and not acting and not given.may_refer:
            return None
        await self._caught_up()
        contents = await given.contents()
        acting = acting or any(self._host.acts(number) for one in contents.values() for number in one.references)
        size = sum(content.size for content in contents.values())
        if size * (1 + state.proofs.words.length // 1_000) > QUICK or state.proofs.is_stale:
            unusual = await asyncio.to_thread(self._unusual, call, contents, acting, named)
        else:
            unusual = self._unusual(call, contents, acting, named)
        if unusual is not None and state.origins.unread > UNREAD:
            return await asyncio.to_thread(hold_of, call, state, *unusual)
        return None if unusual is None else hold_of(call, state, *unusual)

    def _unusual(
        self, call: Call, given: dict[str, PackedContent], acting: bool, named: bool
    ) -> tuple[Selecting, Unproven | None] | None:
        """What selects, and what of it is not proven: None where private data goes out. Takes long for long texts."""
        state, operation, names = self.state, call.about.operation, call.about.names
        parts = {name: selecting_part(operation, name, content) for name, content in given.items()}
        selecting = {name: part for name, part in parts.items() if part is not None}
        if self._leaves_the_house(call, given, acting=acting) and not self._rules.is_reader(names):
            return selecting, None
        if not acting or not state.untrusted:
            return None
        unproven = list(self._unproven(call, given, parts, names))
        chosen = any(not content.is_empty for content in selecting.values())
        if not unproven and not chosen and operation.selecting != () and self.is_influenced and not named:
            unproven = [("", None)]  # the call itself is the choice
        return (selecting, unproven) if unproven else None

    async def _caught_up(self) -> None:
        more, self._more = self._more, None
        if more is not None:
            self._reading = asyncio.ensure_future(asyncio.to_thread(more))
        if self._reading is not None:
            await asyncio.shield(self._reading)

    def _leaves_the_house(self, call: Call, given: dict[str, PackedContent], *, acting: bool) -> bool:
        """Whether influenced code may send out by this call what it has read."""
        if not self.state.private or not self.is_influenced or call.verb not in _ACTING:
            return False
        outward = call.about.operation.outward
        if acting or outward is False:
            return acting if outward is None else outward
        if any(is_place(name, leaf.value) for name, content in given.items() for leaf in content.leaves):
            return True  # it leads anywhere
        home = all(root_of(source) == root_of(call.about.title) for source in self.state.reached[PRIVATE])
        return bool(outward) and not home  # else a query to where all of it came from

    def _unproven(
        self,
        call: Call,
        given: dict[str, PackedContent],
        parts: dict[str, PackedContent | None],
        names: Collection[str],
    ) -> Iterator[tuple[str, Scalar | None]]:
        """The selecting arguments that nothing proves; the value is None where it is no plain one.

        So are links in what influenced code says: who follows one is not asked.
        """
        influenced, state, home = self.is_influenced, self.state, home_of(call.about.title)
        if call.target > 0 and not self._is_chosen(call.target):
            yield "the object", None
        elif call.target > 0 and state.private and self._comes_from_outside(call.target):
            yield "the object", None  # a reply, which may take something private along
        told = influenced and call.about.operation.selecting != ()
        for name, content in given.items():
            part = parts[name]
            values = [leaf.value for leaf in (part.leaves if part is not None else ()) if leaf.value not in ("", b"")]
            if part is not content and told:
                values += [link for leaf in content.leaves for link in links_in(leaf.value)]
            if part is not None and (part.opaque or not all(map(self._is_chosen, part.handles))):
                yield name, None
            for value in values:
                by_policy = self._rules.proves(names, normalised(value))
                if not by_policy and not state.proofs.proves(value, influenced=influenced, home=home):
                    yield name, value

    def _comes_from_outside(self, handle: int) -> bool:
        return bool(self.state.specs.get(handle, NONE).untrusted)

    # answers

    async def passed(self, given: GivenArguments) -> set[str]:
        """The labels of the objects that a call passes: host code may read them, or give them to another session."""
        if not self.state.specs or not given.may_refer:
            return set()
        handles = [handle for content in (await given.contents()).values() for handle in content.handles]
        specs = [self.state.specs[handle] for handle in handles if handle in self.state.specs]
        return {label for label in (UNTRUSTED, PRIVATE) if any(getattr(spec, label) for spec in specs)}

    async def begins(self, call: Call, given: GivenArguments) -> None:
        """A call is about to be made. Host code may call functions of the guest with what it will answer."""
        spec, reached = self._spec(call, ()), self.state.reached
        new = [label for label in (UNTRUSTED, PRIVATE) if getattr(spec, label) and label not in reached]
        if new and (self._host.lends or any(one.opaque for one in (await given.contents()).values())):
            for label in new:
                self.reach(label, call.about.title)

    async def delivered(
        self, call: Call, given: GivenArguments, answer: Answer, below: Iterable[str]
    ) -> tuple[str, ...]:
        """The labels of an answer, for its row. The session has it from here on; `below` came from other sessions."""
        state, spec = self.state, self._spec(call, below)
        if spec is NONE and not (state.untrusted and answer.made):
            return ()
        keys = bool(spec.untrusted or spec.private)
        content = await content_off_loop(answer.value, self._host.field_names, keys=keys)
        labels = [*spec.carried(content), *spec.texts()]
        if spec.trusted or content.handles:
            labels += await self._intent(call, given, spec, content)
        if labels and not state.reached and self._note is not None:
            self._note("")
        new = [made.number for made in answer.made if made.number > 0]
        objects = min(new, default=self._host.objects + 1) - 1
        for label in labels:
            self._mark_files(label)
        if labels and state.unread > UNREAD:
            await asyncio.to_thread(state.read_codes)
        if labels and call.about.operation.reads and not self.is_influenced:
            asked = (await given.contents()).values()
            state.proofs.add_looked_up(leaf.value for one in asked for leaf in one.leaves)
        title = call.about.title
        if content.size > QUICK and spec.trusted:
            await asyncio.to_thread(state.learn, title, labels, content, target=call.target)
        else:
            state.learn(title, labels, content, target=call.target)
        state.answered(title, labels, content, target=call.target, objects=objects)
        return tuple(labels)

    async def _intent(self, call: Call, given: GivenArguments, spec: LabelSpec, content: PackedContent) -> list[str]:
        """What an answer says of the person's intent: whether that chose the call, and the objects in it."""
        alone, influenced = content.top <= 1 and not content.several, self.is_influenced
        opaque = any(one.opaque for one in (await given.contents()).values())
        asked = await self._is_asked_for(call, given, alone=opaque or call.verb == "op")
        hit = alone and await self._is_asked_for(call, given, alone=True)
        searched = call.about.operation.reads and influenced  # an outsider may have made what alone is found
        labels = [HIT] if hit and not (searched and spec.untrusted) else []
        labels += [NARROWED] if spec.trusted and not asked else []
        meant = bool(content.handles) and not influenced and await self._is_asked_for(call, given)
        if content.handles and (hit or self._is_part(call) or (meant and alone and call.verb != "op")):
            labels.append(CHOSEN)
        elif meant:
            labels.append(LISTED)
        return labels

    def _spec(self, call: Call, below: Iterable[str]) -> LabelSpec:
        spec, own = LabelSpec.of(call.about.operation, operator=call.verb == "op"), self.state.specs.get(call.target)
        if own is not None:
            spec |= own.inside(call.name) if call.verb == "get" else own.beneath(call.name)
        for label in below:
            spec |= LabelSpec(untrusted=label == UNTRUSTED, private=label == PRIVATE)
        return spec

    def _is_chosen(self, handle: int) -> bool:
        return self._host.is_bound(handle) or self.state.is_chosen(handle, influenced=self.is_influenced)

    def _is_part(self, call: Call) -> bool:
        """Whether an attribute of a chosen object is read, that no outsider can set."""
        return call.verb == "get" and self._is_chosen(call.target) and not self._spec(call, ()).untrusted

    async def _is_asked_for(self, call: Call, given: GivenArguments, *, alone: bool = False) -> bool:
        """Whether the person's intent, and nothing else, chose what a call asks for. `alone`: it names one thing.

        An index names none: whoever fills the list says what stands there.
        """
        state, influenced = self.state, self.is_influenced
        if not state.untrusted and not influenced:
            return True
        if call.target > 0 and not self._is_chosen(call.target):
            return False
        named = (await given.contents()).items()  # what an acting call says in a text does not say what it makes
        operation, home = call.about.operation, home_of(call.about.title)
        contents = [one for name, one in named if not _acts(call) or selecting_part(operation, name, one) is not None]
        leaves = [leaf for one in contents for leaf in one.leaves if call.verb != "op" or type(leaf.value) is not int]
        if not all(self._is_chosen(handle) for one in contents for handle in one.handles):
            return False
        if alone and (not leaves or any(one.opaque for one in contents)):
            return False
        return all(state.proofs.proves(leaf.value, influenced=influenced, home=home) for leaf in leaves)


def _acts(call: Call) -> bool:
    """Whether the call is not known to read."""
    return call.verb in _ACTING and is_effect(call.verb, call.name, call.about.operation)


def root_of(title: str) -> str:
    return title.partition(".")[0].partition("#")[0]
