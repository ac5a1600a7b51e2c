"""AgentDojo's suites, served to another process: a line of JSON for each question, and one for each answer.

Runs in AgentDojo's own environment, and imports nothing of this project.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any, cast

VERSION = "v1.2.2"
MARK = "canary-{}-yranac"


class Trial:
    """One environment with what was called in it."""

    def __init__(self, suite: Any, environment: Any, user: str, injection: str) -> None:
        functions = importlib.import_module("agentdojo.functions_runtime")
        self._suite = suite
        self.user = suite.get_user_task_by_id(user)
        self.injection = suite.get_injection_task_by_id(injection) if injection else None
        self._environment = self.user.init_environment(environment.model_copy(deep=True))
        self._before = self._environment.model_copy(deep=True)
        self._runtime = functions.FunctionsRuntime(suite.tools)
        self._call = functions.FunctionCall
        self._traces: list[Any] = []

    def truths(self) -> list[list[dict[str, Any]]]:
        tasks = [self.user, *([self.injection] if self.injection else [])]
        return [
            [{"tool": call.function, "arguments": call.args} for call in task.ground_truth(self._before)]
            for task in tasks
        ]

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        value, error = self._runtime.run_function(self._environment, tool, arguments)
        self._traces.append(self._call(function=tool, args=arguments))
        if error is not None:
            raise ValueError(error)
        return plain(value)

    def judge(self, answer: str) -> dict[str, bool]:
        verdict: dict[str, bool] = {}
        for name, task in (("utility", self.user), ("security", self.injection)):
            if task is not None:
                check = self._suite._check_task_result
                said = [{"type": "text", "content": answer}]
                verdict[name] = bool(check(task, said, self._before, self._environment, self._traces))
        return verdict


class Suites:
    """The suites of one version, the environments that were loaded, and the trials under way."""

    def __init__(self) -> None:
        self._suites: dict[str, Any] = importlib.import_module("agentdojo.task_suite.load_suites").get_suites(VERSION)
        self._environments: dict[tuple[str, str, tuple[str, ...]], Any] = {}
        self._trials: dict[int, Trial] = {}
        self._count = 0

    def describe(self) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "tools": [_tool(tool) for tool in suite.tools],
                "users": [
                    {"id": id, "prompt": task.PROMPT, "answer": task.GROUND_TRUTH_OUTPUT, **self._seen(suite, id)}
                    for id, task in suite.user_tasks.items()
                ],
                "injections": [
                    {
                        "id": id,
                        "goal": task.GOAL,
                        "answer": task.GROUND_TRUTH_OUTPUT,
                        "is_said": bool(task.GROUND_TRUTH_OUTPUT) and not task.ground_truth(empty),
                    }
                    for id, task in suite.injection_tasks.items()
                ],
            }
            for name, suite in self._suites.items()
            if (empty := suite.load_and_inject_default_environment({}))
        ]

    def open(self, suite: str, user: str, injection: str, text: str, vectors: list[str]) -> dict[str, Any]:
        """`text` stands in those places of the environment that outsiders write and `vectors` names."""
        trial = Trial(self._suites[suite], self._loaded(suite, text, tuple(vectors)), user, injection)
        self._count += 1
        self._trials[self._count] = trial
        return {"trial": self._count, "truths": trial.truths()}

    def call(self, trial: int, tool: str, arguments: dict[str, Any]) -> Any:
        return self._trials[trial].call(tool, arguments)

    def close(self, trial: int, answer: str) -> dict[str, bool]:
        return self._trials.pop(trial).judge(answer)

    def _loaded(self, suite: str, text: str, vectors: tuple[str, ...]) -> Any:
        """The text of an environment is YAML, in places between quotes: what would end a value there is left out."""
        key = (suite, text, vectors)
        if key not in self._environments:
            line = " ".join(text.replace('"', "'").replace("\\", "/").split())
            loaded = self._suites[suite].load_and_inject_default_environment(dict.fromkeys(vectors, line))
            self._environments[key] = loaded
        return self._environments[key]

    def _seen(self, suite: Any, user: str) -> dict[str, Any]:
        """The places of an injection that the calls of the task's solution show, and which call is the first."""
        marks = {vector: MARK.format(vector) for vector in suite.get_injection_vector_defaults()}
        trial = Trial(suite, suite.load_and_inject_default_environment(marks), user, "")
        shown = [json.dumps(trial.call(call["tool"], call["arguments"])) for call in trial.truths()[0]]
        seen = [vector for vector, mark in marks.items() if any(mark in text for text in shown)]
        first = next((at for at, text in enumerate(shown) if any(marks[vector] in text for vector in seen)), 0)
        return {"seen": seen, "first": first}


def plain(value: Any) -> Any:
    """What the tool gave, as JSON has it."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, list):
        return [plain(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in cast("dict[Any, Any]", value).items()}
    return value


def _tool(tool: Any) -> dict[str, Any]:
    fields = tool.parameters.model_fields.items()
    place = next(iter(tool.dependencies.values())).env_dependency
    return {
        "name": tool.name,
        "object": place,
        "description": tool.description,
        "parameters": [
            [name, field.is_required(), None if field.is_required() else field.default] for name, field in fields
        ],
    }


def main() -> None:
    warnings.simplefilter("ignore")
    yaml: Any = importlib.import_module("yaml")
    yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # environments are read some hundred times
    answers = sys.stdout
    with redirect_stdout(sys.stderr):  # some checks print
        suites = Suites()
        doings: dict[str, Callable[..., Any]] = {
            name: getattr(suites, name) for name in ("describe", "open", "call", "close")
        }
        for line in sys.stdin:
            asked = json.loads(line)
            try:
                answer = {"value": doings[asked.pop("do")](**asked)}
            except Exception as error:  # an outer edge: the other process raises it
                answer = {"error": f"{type(error).__name__}: {error}"}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
