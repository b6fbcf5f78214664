"""Inspect tasks: an Inspect sample is one problem, asked `samples` times, each time under its own seed.

Inspect's mean and standard error over samples are then the mean and the error clustered by problem. Every
response is graded and kept the moment it is there.
"""

from collections import Counter
from collections.abc import Sequence
from copy import copy
from typing import Any

import anyio
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, GenerateConfig, ModelOutput, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import collect

from scapo.evaluate.item import Item
from scapo.evaluate.setting import SetPlan
from scapo.evaluate.store import SampleStore
from scapo.sampling.noise import sample_seed

CUT = ("max_tokens", "model_length")
RESPONSES = "responses"  # where the solver leaves the graded rows for the scorer


def inspect_task(plan: SetPlan, seed: int, store: SampleStore | None = None) -> Task:
    """One set as an Inspect task; with a store, only problems with unfinished samples are asked."""
    items = {item.id: item for item in plan.items}
    known = store.rows if store else {}
    todo = [
        item for item in plan.items if any((plan.name, item.id, n) not in known for n in range(plan.samples))
    ]
    dataset = [Sample(id=item.id, input=item.prompt(0), target=item.gold(0)) for item in todo]
    return Task(
        name=plan.name,
        dataset=MemoryDataset(dataset, name=plan.name),
        solver=ask(plan.name, items, plan.samples, seed, store),
        scorer=share_right(),
        config=GenerateConfig(temperature=plan.temperature, top_p=plan.top_p, max_tokens=plan.max_tokens),
        metadata={"source": plan.source, "digest": plan.digest, "seed": seed, "samples": plan.samples},
    )


@solver
def ask(suite: str, items: dict[str, Item], samples: int, seed: int, store: SampleStore | None) -> Solver:
    """Ask for every sample that isn't stored; grade and store each answer as it comes."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        item = items[str(state.sample_id)]
        numbers = [(state.epoch - 1) * samples + n for n in range(samples)]
        rows = {
            n: store.rows[suite, item.id, n] for n in numbers if store and (suite, item.id, n) in store.rows
        }

        async def one_call(asked: Sequence[int]) -> ModelOutput:
            output = await _call(state, generate, item, sample_seed(seed, suite, item.id, asked[0]), asked)
            for place, n in enumerate(asked):
                rows[n] = await _row(suite, item, n, seed, output, place)
                if store:
                    store.add(rows[n])
            return output

        missing = [n for n in numbers if n not in rows]
        outputs = await collect(*(one_call(asked) for asked in calls(missing, _per_call(item))))
        if outputs:
            state.output = outputs[-1]
        state.metadata[RESPONSES] = [rows[n] for n in numbers]
        return state

    return solve


def calls(samples: Sequence[int], per_call: int) -> list[list[int]]:
    """Runs of consecutive samples, at most `per_call` long: their seeds are consecutive too."""
    runs: list[list[int]] = []
    for n in samples:
        if runs and n == runs[-1][-1] + 1 and len(runs[-1]) < per_call:
            runs[-1].append(n)
        else:
            runs.append([n])
    return runs


def _per_call(item: Item) -> int:
    """Our provider draws several samples of one prompt in a call; a choice has a new prompt each time."""
    return 1 if item.grader == "choice" else getattr(get_model().api, "choices_per_call", 1)


async def _call(
    state: TaskState, generate: Generate, item: Item, seed: int, asked: Sequence[int]
) -> ModelOutput:
    mine = copy(state)  # samples of one problem run side by side
    mine.messages = [ChatMessageUser(content=item.prompt(asked[0]))]
    several = {"num_choices": len(asked)} if len(asked) > 1 else {}
    return (await generate(mine, tool_calls="none", seed=seed, **several)).output  # type: ignore[arg-type]


async def _row(
    suite: str, item: Item, sample: int, seed: int, output: ModelOutput, place: int
) -> dict[str, Any]:
    """The sample's row as written to samples.jsonl; grading runs on a worker thread, off the event loop."""
    choice = output.choices[place] if place < len(output.choices) else None
    completion = whole_characters(choice.message.text) if choice else ""
    score = await anyio.to_thread.run_sync(item.grade, completion, sample)
    return {
        "suite": suite,
        "problem_id": item.id,
        "sample": sample,
        "seed": sample_seed(seed, suite, item.id, sample),
        "completion": completion,
        "score": score.value,
        "reason": str(score.reason),
        "extracted": score.extracted,
        "truncated": bool(choice and choice.stop_reason in CUT),
        "tokens": _tokens(output, place),
        "answer": item.gold(sample),
    }


def whole_characters(text: str) -> str:
    """The text with half surrogates (which UTF-8 can't hold) paired up or replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _tokens(output: ModelOutput, place: int) -> int | None:
    """Response tokens of one choice; null where the provider doesn't say."""
    per_choice = (output.metadata or {}).get("tokens")
    if per_choice:
        return int(per_choice[place])
    return output.usage.output_tokens if output.usage and len(output.choices) == 1 else None


@scorer(metrics=[mean(), stderr()])
def share_right() -> Scorer:
    """The share of a problem's responses that our reward calls right; the reasons as explanation."""

    async def judge(state: TaskState, target: Target) -> Score:
        rows = state.metadata[RESPONSES]
        reasons = Counter(row["reason"] for row in rows)
        return Score(
            value=sum(row["score"] for row in rows) / len(rows),
            answer=", ".join(row["extracted"] or "–" for row in rows),
            explanation=", ".join(f"{reason}: {count}" for reason, count in reasons.most_common()),
        )

    return judge
