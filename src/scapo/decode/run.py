"""One comparison of plain and d-filtered sampling from files to files; interrupted, it goes on where it was."""

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scapo.decode.generate import PLAIN, FilterReply, FilterRequest, filtered_generate
from scapo.decode.statistics import paired_outcomes, rejection_rates
from scapo.diagnose.settings import Panel, label_of
from scapo.files import JsonlAppender, cut_torn_tail, output_lock, read_jsonl, write_json
from scapo.problems import Problem, chat_prompt
from scapo.reward import score_batch
from scapo.sampling.local import LocalModel
from scapo.sampling.noise import sample_seed
from scapo.versions import versions

SAMPLES, RESULTS = "samples.jsonl", "decode.json"
MODES = ("plain", "filtered")


@dataclass(frozen=True, kw_only=True)
class Job:
    """One comparison: every problem once by plain sampling and once filtered, with the same random numbers."""

    panel: Panel
    local: LocalModel
    model: str
    out: Path
    mass: float
    max_tokens: int
    seed: int
    batch_problems: int
    advance: Callable[[int, int], None] = lambda done, total: None


def decode_panel(job: Job) -> dict[str, Any]:
    """Sample what samples.jsonl lacks, then compare; writes samples.jsonl and decode.json, returns the latter."""
    with output_lock(job.out):
        path = job.out / SAMPLES
        cut_torn_tail(path)
        done = {(row["problem_id"], row["mode"]) for _, row in read_jsonl(path)} if path.exists() else set()
        total = len(job.panel.problems) * len(MODES)
        job.advance(sum((p.id, mode) in done for p in job.panel.problems for mode in MODES), total)
        with JsonlAppender(path) as file:
            for mode in MODES:
                missing = [p for p in job.panel.problems if (p.id, mode) not in done]
                for rows in _sampled(job, mode, missing):
                    file.append(*rows)
                    job.advance(len(rows), total)
        results = _results(job, [row for _, row in read_jsonl(path)])
        write_json(job.out / RESULTS, results)
        return results


def _sampled(job: Job, mode: str, problems: Sequence[Problem]) -> Iterator[list[dict[str, Any]]]:
    mass = job.mass if mode == "filtered" else PLAIN
    for start in range(0, len(problems), job.batch_problems):
        block = problems[start : start + job.batch_problems]
        requests = [_request(job, problem) for problem in block]
        replies = filtered_generate(job.local.model, requests, job.local.stop_ids, mass)
        texts = [str(job.local.tokenizer.decode(reply.ids, skip_special_tokens=True)) for reply in replies]
        scores = score_batch(texts, [problem.answer for problem in block])
        yield [
            _row(problem, mode, request, reply, text, score)
            for problem, request, reply, text, score in zip(
                block, requests, replies, texts, scores, strict=True
            )
        ]


def _request(job: Job, problem: Problem) -> FilterRequest:
    rewrites = [problem.perturbations[kind] for kind in job.panel.kinds if problem.perturbations.get(kind)]
    return FilterRequest(
        clean_ids=job.local.prompt_ids(chat_prompt(problem)),
        perturbed_ids=tuple(job.local.prompt_ids(chat_prompt(text)) for text in rewrites),
        seed=sample_seed(job.seed, "decode", problem.id, 0),
        max_tokens=job.max_tokens,
    )


def _row(
    problem: Problem, mode: str, request: FilterRequest, reply: FilterReply, text: str, score: Any
) -> dict[str, Any]:
    return {
        "problem_id": problem.id,
        "mode": mode,
        "seed": request.seed,
        "completion": text,
        "score": score.value,
        "reason": str(score.reason),
        "extracted": score.extracted,
        "truncated": reply.truncated,
        "tokens": reply.tokens,
        "rejections": reply.rejections,
    }


def _results(job: Job, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    by_mode = {mode: {row["problem_id"]: row for row in rows if row["mode"] == mode} for mode in MODES}
    ids = [problem.id for problem in job.panel.problems]
    plain, filtered = ([by_mode[mode][i] for i in ids] for mode in MODES)
    return {
        "kind": "decode",
        "model": job.model,
        "label": label_of(job.model),
        "mass": job.mass,
        **paired_outcomes([row["score"] for row in plain], [row["score"] for row in filtered]),
        **rejection_rates([row["rejections"] for row in filtered], [row["tokens"] for row in filtered]),
        "mean_tokens": {
            mode: _mean(group, "tokens") for mode, group in zip(MODES, (plain, filtered), strict=True)
        },
        "truncation_rate": {
            mode: _mean(group, "truncated") for mode, group in zip(MODES, (plain, filtered), strict=True)
        },
        "kinds": list(job.panel.kinds),
        "left_out": job.panel.left_out,
        "sampling": {"temperature": 1.0, "top_p": 1.0, "max_tokens": job.max_tokens},
        "seed": job.seed,
        "engine": job.local.describe(),
        "versions": versions(),
        "command": shlex.join(["scapo", *sys.argv[1:]]),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _mean(rows: Sequence[dict[str, Any]], name: str) -> float:
    return sum(row[name] for row in rows) / len(rows)
