"""Inspect tasks: ask every item `samples` times with its own seed, score with our reward, keep the reason."""

from typing import Any

import anyio
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, GenerateConfig, ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from scapo.evaluate.item import Item
from scapo.evaluate.sampling import sample_seed
from scapo.evaluate.setting import SetPlan
from scapo.evaluate.store import SampleStore

CUT = ("max_tokens", "model_length")


def inspect_task(plan: SetPlan, seed: int, store: SampleStore | None = None) -> Task:
    """One set as an Inspect task; with a store, finished samples are recalled and new ones kept."""
    items = {item.id: item for item in plan.items}
    dataset = [Sample(id=item.id, input=item.prompt(0), target=item.gold(0)) for item in plan.items]
    return Task(
        name=plan.name,
        dataset=MemoryDataset(dataset, name=plan.name),
        solver=ask(plan.name, items, seed, store),
        scorer=boxed(plan.name, items, seed, store),
        epochs=plan.samples,
        config=GenerateConfig(temperature=plan.temperature, top_p=plan.top_p, max_tokens=plan.max_tokens),
        metadata={"source": plan.source, "digest": plan.digest, "seed": seed},
    )


@solver
def ask(suite: str, items: dict[str, Item], seed: int, store: SampleStore | None) -> Solver:
    """Generate under the sample's own seed; a stored sample is put back without asking the model."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        problem_id, sample = str(state.sample_id), state.epoch - 1
        state.messages = [ChatMessageUser(content=items[problem_id].prompt(sample))]
        stored = store.rows.get((suite, problem_id, sample)) if store else None
        if stored is None:
            return await generate(state, seed=sample_seed(seed, suite, problem_id, sample))
        state.output = ModelOutput.from_content(
            str(state.model),
            stored["completion"],
            stop_reason="max_tokens" if stored["truncated"] else "stop",
        )
        return state

    return solve


@scorer(metrics=[accuracy(), stderr()])
def boxed(suite: str, items: dict[str, Item], seed: int, store: SampleStore | None) -> Scorer:
    """Our reward as an Inspect score: 0 or 1, the box as the answer, the reason as the explanation."""

    async def judge(state: TaskState, target: Target) -> Score:
        problem_id, sample = str(state.sample_id), state.epoch - 1
        row = store.rows.get((suite, problem_id, sample)) if store else None
        if row is None:
            row = await _judge(suite, items[problem_id], sample, seed, state.output)
            if store:
                store.add(row)
        return Score(
            value=row["score"],
            answer=row["extracted"],
            explanation=row["reason"],
            metadata={"reason": row["reason"], "truncated": row["truncated"], "seed": row["seed"]},
        )

    return judge


async def _judge(suite: str, item: Item, sample: int, seed: int, output: ModelOutput) -> dict[str, Any]:
    """The sample's row as written to samples.jsonl; scoring runs on a worker thread, off the event loop."""
    completion = output.completion
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
        "truncated": output.stop_reason in CUT,
        "tokens": output.usage.output_tokens if output.usage else None,
        "answer": item.gold(sample),
    }
