"""`Reversible`: transactions of guest code, at the door. Refuses in them what cannot be undone, and undoes them.

Guest code says that a block begins, and how it ends; the paths of calls say which of them lie in it. `effects` knows
what is undone, and how.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from cellwright.doors import BY_GUEST, About, Answer, Call, Host, Operation, Wrapper
from cellwright.errors import Fenced, JournalFailed, NotReversible, PlatformError
from cellwright.journal.blocks import (
    BEGIN,
    COMMIT,
    ENDED,
    VERBS,
    TransactionBlock,
    TransactionBlocks,
    anyway_in,
    lies_in,
    prefixes_of,
)
from cellwright.journal.call_rows import finished
from cellwright.journal.effects import Undoer, Undone, is_effect, mark_of
from cellwright.journal.replay import Replay
from cellwright.journal.snapshots import Snapshots
from cellwright.scope import handles_in
from cellwright.store import Row
from cellwright_guest.packer import Packer, plain
from cellwright_guest.wire import NOTHING, Packed, WireError, is_large

_ABOUTS = {verb: About(title=f"transaction.{verb}", operation=Operation(reads=True)) for verb in VERBS}
PATIENCE_S = 10.0  # for undoing what a guest asked to be undone before it ended
LATE_S = 5.0  # for calls in a transaction whose guest is gone: their undo needs their result
_FEW = 8  # prefixes that are compared one by one
MOST_HELD = 10_000  # objects; then those of the oldest calls are let go of, and these cannot be undone any more
_SEVERAL = 1000  # entries of a list that the guest is told


class Reversible(Wrapper):
    """The transactions of one guest. `blocks` are those that the rows tell of which it runs again."""

    def __init__(
        self, inner: Host, replay: Replay, blocks: TransactionBlocks, undoer: Undoer, snapshots: Snapshots
    ) -> None:
        super().__init__(inner)
        self.undoer = undoer
        self._replay = replay
        self._snapshots = snapshots
        self._blocks = blocks
        self._held = _HeldObjects(inner.drop)
        self._busy: set[str] = set()  # paths of effects under way
        self._late: dict[asyncio.Task[Answer], Call] = {}  # those whose guest is gone
        self._ended = asyncio.Event()
        self._undoing: set[asyncio.Task[Undone]] = set()
        self._working: asyncio.Task[Any] | None = None  # the task of these that undoes something now
        self._go = asyncio.Event()
        self._go.set()

    def about(self, verb: str, target: int, name: str, path: str = "") -> About:
        return _ABOUTS.get(verb) or self.inner.about(verb, target, name, path)

    def drop(self, handle: int, count: int) -> None:
        self._held.drop(handle, count)

    async def call(self, call: Call) -> Answer:
        if call.verb in VERBS:
            return await self._said(call)
        if call.refused is not None or not is_effect(call.verb, call.name, call.about.operation):
            return await self.inner.call(call)
        return await self._effect(call)

    def hold(self) -> None:
        """Let no effect begin until `release`: what is done is being undone."""
        self._go.clear()

    def release(self) -> None:
        self._go.set()

    # effects

    async def _effect(self, call: Call) -> Answer:
        await self._go.wait()
        refused = self._refusal(call)
        if refused is not None:
            return await self.inner.call(replace(call, refused=refused))
        for block in self._blocks.around(call.path) if len(self._blocks) else ():
            block.used = True
        self._note_doubt(call)
        undoable = call.about.operation.undo is not None and len(self._blocks) and self._blocks.around(call.path)
        self._busy.add(call.path)
        try:
            answer = await (self._whole(call) if undoable else self.inner.call(call))
        finally:
            if call not in self._late.values():
                self._leave(call)
        self._hold(call, answer)
        return answer

    def _hold(self, call: Call, answer: Answer) -> None:
        if call.about.operation.undo is not None and not answer.failed:
            self._held.keep({call.target, *_named(answer.value), *_named(call.arguments)})

    def _leave(self, call: Call) -> None:
        self._busy.discard(call.path)
        self._ended.set()

    async def _whole(self, call: Call) -> Answer:
        """A call whose effect a transaction may have to undo comes to its end, also where its guest does not."""
        task = asyncio.get_running_loop().create_task(self.inner.call(call))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if error.args == (BY_GUEST,):
                task.cancel(BY_GUEST)
                return await task
            self._late[task] = call
            raise

    async def finish(self) -> None:
        """Its guest is gone: until the calls of its transactions that were under way are over, and written down."""
        late, self._late = self._late, {}
        if not late:
            return
        done, pending = await asyncio.wait(late, timeout=LATE_S)
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending, timeout=LATE_S)  # one that ignores its cancellation is left to itself
        for task in done:
            if not task.cancelled() and task.exception() is None:
                self._hold(late[task], task.result())
                self._replay.writer.soon(finished(late[task], task.result()))
        for call in late.values():
            self._leave(call)

    def _refusal(self, call: Call) -> NotReversible | None:
        about = call.about
        for block in self._blocks.around(call.path) if len(self._blocks) else ():
            if block.state in ("undoing", "undone"):
                return NotReversible(f"{about.title} was called in a transaction that is undone already")
            if block.state == "open" and not block.anyway and about.operation.undo is None:
                return NotReversible(
                    f"{about.title} cannot be undone; call it after the transaction, or open it with "
                    "transaction(anyway=True)"
                )
        return None

    def _note_doubt(self, call: Call) -> None:
        """The guest is told `OutcomeUnknown`, and its row will say that it failed: that it may have happened stays."""
        earlier = self._replay.host_rows.get(call.path)
        if earlier is not None and earlier.status == "started" and not call.about.operation.idempotent:
            self._replay.writer.soon(mark_of(call, "asked", call.about.title))

    async def _quiet(self, block: TransactionBlock) -> None:
        """Until no effect is under way in it."""
        while any(lies_in(path, block.prefix) for path in self._busy):
            self._ended.clear()
            await self._ended.wait()

    # what guest code says

    async def _said(self, call: Call) -> Answer:
        if call.target or not call.name:
            raise WireError("a transaction without a name")
        if call.verb == BEGIN:
            return await self._begin(call)
        # Served also where the guest has made more calls than it may: to end a block is no way to go on.
        block = self._blocks.find(call.name)
        if block is None or block.state == "committed":
            raise WireError("the end of a transaction that is not open")
        if call.verb == COMMIT:
            return await self._commit(block, call)
        return await self._undo(block)

    async def _begin(self, call: Call) -> Answer:
        anyway = anyway_in(call.arguments.tree)
        known = self._blocks.find(call.name) is not None
        if call.refused is None and (known or anyway is None or not lies_in(call.path, call.name)):
            raise WireError("a transaction that is not its own")
        if call.refused is None and any(b.state in ("undoing", "undone") for b in self._blocks.around(call.path)):
            call = replace(call, refused=NotReversible("a transaction was begun in one that is undone already"))
        if call.refused is not None:
            return await self.inner.call(call)
        block = self._blocks.begin(call.name, call.cell, "", bool(anyway))
        block.used = False
        try:
            block.tree = await self._snapshots.take(call.cell)
        except (Fenced, JournalFailed) as error:
            return await self._replay.writer.stop(error)
        except PlatformError as error:
            self._blocks.forget(call.name)
            return await self.inner.call(replace(call, refused=NotReversible(f"no transaction can begin: {error}")))
        except asyncio.CancelledError:
            self._blocks.forget(call.name)
            raise
        return Answer(value=Packed(block.tree, []))

    async def _commit(self, block: TransactionBlock, call: Call) -> Answer:
        if block.state != "open":
            why = NotReversible("the transaction around this one was undone, and this one with it")
            return await self.inner.call(replace(call, refused=why))
        block.state = "committed"
        return Answer(value=NOTHING)

    async def _undo(self, block: TransactionBlock) -> Answer:
        if block.state in ("open", "failed"):
            block.state = "undoing"
        task = asyncio.get_running_loop().create_task(self._undo_block(block))
        self._undoing.add(task)
        task.add_done_callback(self._undone)
        try:
            undone = await asyncio.shield(task)  # to its end, also when the guest is gone
        except (Fenced, JournalFailed) as error:
            return await self._replay.writer.stop(error)
        return Answer(value=_report(undone, "" if undone.failed else block.tree))

    def _undone(self, task: asyncio.Task[Undone]) -> None:
        self._undoing.discard(task)
        if not task.cancelled():
            task.exception()  # read here, so that nobody is warned where the guest is gone

    async def _undo_block(self, block: TransactionBlock) -> Undone:
        await self._quiet(block)
        async with self.undoer.alone:
            if block.state == "undone":  # with the one around it, meanwhile
                return Undone()
            self._working = asyncio.current_task()
            found = await self._undo_all(block.cell, [block])
            if found.failed:
                block.state = "failed"
            else:
                self._blocks.undone(block)
        return found

    async def _undo_all(self, first_cell: int, blocks: list[TransactionBlock]) -> Undone:
        found = Undone()
        if any(block.used for block in blocks):
            rows = await self.undoer.read(first_cell)
            inside = await asyncio.to_thread(_since, [block.prefix for block in blocks], rows)
            plan = await self.undoer.plan(self.undoer.effects(rows, lambda row: (row.cell, row.path) in inside))
            found = await self.undoer.carry_out(plan)
        try:
            if not found.failed:
                await self._snapshots.restore(blocks[0].tree)
        except (Fenced, JournalFailed):
            raise
        except PlatformError as error:
            return replace(found, failed="the files of the workspace", error=error, why=str(error))
        return found

    # what is said from outside

    async def settle(self, cell: int) -> Undone | None:
        """Undo the transactions that were open when this cell was ended; None where there were none."""
        await self.finish()
        await self._begun()  # all that is open is undone at once
        async with self.undoer.alone:
            rows = [row for row in await self.undoer.read(cell) if row.cell == cell]
            # those of its own code: what an older task began goes on in the next guest
            blocks = [b for b in TransactionBlocks.told_by(rows).open() if lies_in(b.prefix, str(cell))]
            if not blocks:
                return None
            found = await self._undo_all(cell, blocks)
            prefixes = {b.prefix for b in blocks}
            begun = [row for row in rows if row.verb == BEGIN and row.name in prefixes]
            status = "failed" if found.failed else "done"
            await self._replay.writer.now(*(mark_of(row, status, verb=ENDED) for row in begun))
        return found

    def retire(self) -> None:
        """Its guest is done with. For one who holds `undoer.alone`: what waits to undo a block has not begun."""
        for task in self._undoing:
            task.cancel()

    @property
    def has_open(self) -> bool:
        """Whether guest code is in a transaction."""
        return bool(self._blocks.open())

    async def idle(self) -> None:
        """Until no transaction is being undone. Its guest is gone: what has not begun by then is left to the next."""
        if self._undoing:
            await asyncio.wait(self._undoing, timeout=PATIENCE_S)
        await self._begun()

    async def _begun(self) -> None:
        """Until the undo that has begun is at its end; those that wait for it do not begin."""
        for task in self._undoing - {self._working}:
            task.cancel()
        while self._undoing:
            await asyncio.wait(self._undoing)


class _HeldObjects:
    """Host objects that an undo may need, held although guest code let go of them. `drop` is told of what goes."""

    def __init__(self, drop: Callable[[int, int], None]) -> None:
        self._drop = drop
        self._counts: dict[int, int] = {}  # by number, oldest first: how often the guest let go of it meanwhile

    def keep(self, numbers: Iterable[int]) -> None:
        for number in (one for one in numbers if one > 0):
            self._counts[number] = self._counts.pop(number, 0)
        while len(self._counts) > MOST_HELD:
            oldest = next(iter(self._counts))
            count = self._counts.pop(oldest)
            if count:
                self._drop(oldest, count)

    def drop(self, number: int, count: int) -> None:
        """The guest let go of it."""
        if number in self._counts:
            self._counts[number] += count
        else:
            self._drop(number, count)


def _since(prefixes: list[str], rows: Sequence[Row]) -> set[tuple[int, str]]:
    """The calls in these blocks, by cell and path; none from before they began, whatever path it has."""
    wanted = set(prefixes)
    begun: set[str] = wanted - {row.name for row in rows if row.door == "host" and row.verb == BEGIN}
    found: set[tuple[int, str]] = set()
    for row in rows:
        if row.door == "host" and row.verb == BEGIN and row.name in wanted:
            begun.add(row.name)
        elif (
            any(prefix in begun for prefix in prefixes_of(row.path))
            if len(wanted) > _FEW
            else any(lies_in(row.path, prefix) for prefix in begun)
        ):
            found.add((row.cell, row.path))
    return found


def _named(packed: Packed) -> set[int]:
    return set[int]() if is_large(packed) else handles_in(packed.tree)


def _report(found: Undone, tree: str) -> Packed:
    text = found.text()
    if found.failed:
        text = f"an undo failed: the transaction is neither done nor undone, and its files are as they are\n{text}"
    elif text:
        text = f"transaction undone\n{text}"
    report = {
        "text": text,
        "undone": [str(one) for one in found.undone[:_SEVERAL]],
        "failed": found.failed,
        "not_tried": [str(one) for one in found.not_tried[:_SEVERAL]],
        "left": [str(one) for one in found.left[:_SEVERAL]],
        "tree": tree,
    }
    return Packer(plain).packed(report)
