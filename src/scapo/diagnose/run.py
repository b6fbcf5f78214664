"""One diagnosis from files to files. What is finished is on disk; running it again goes on from there."""

import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scapo.diagnose.cases import collect_cases
from scapo.diagnose.panel import Scorer, panel_keys, score_panel
from scapo.diagnose.settings import Panel, Settings, fitting, label_of, response_limit
from scapo.diagnose.sources import FileSource, ModelSource, Source
from scapo.diagnose.statistics import summarise
from scapo.files import JsonlAppender, cut_torn_tail, output_lock, read_jsonl, write_json
from scapo.sampling.local import LocalModel
from scapo.versions import versions

PANEL, CASES, DRIFT = "panel.jsonl", "cases.jsonl", "drift.json"
Advance = Callable[[str, int, int], None]  # stage, how many more are done, how many there are


@dataclass(frozen=True, kw_only=True)
class Job:
    """One diagnosis. `block`: responses sampled and scored together; their token tensors live no longer."""

    panel: Panel
    local: LocalModel
    settings: Settings
    out: Path
    label: str | None = None
    cases: int = 4
    block: int = 16
    advance: Advance = lambda stage, done, total: None


def diagnose_panel(job: Job) -> dict[str, Any]:
    """Sample (or read), score, summarise; writes panel.jsonl, cases.jsonl, drift.json; returns the last."""
    with output_lock(job.out):
        limit = response_limit(job.local, job.settings.max_tokens)
        panel = fitting(job.panel, job.local, limit)
        source = _source(job, panel, limit)
        scorer = Scorer(job.local, panel.kinds)
        _score(job, panel, source, scorer)
        cases = _cases(job, panel, source, scorer)
        records = job.out / PANEL
        drift = {
            "kind": "diagnose",
            "model": job.settings.model,
            "label": job.label or label_of(job.settings.model),
            **summarise(_with_sums(records), panel.kinds, seed=job.settings.seed),
            **_counts(records),
            "cases": cases,
            "left_out": {reason: count for reason, count in panel.left_out.items() if count},
            "seed": job.settings.seed,
            "sampling": {
                "samples": job.settings.samples,
                "temperature": 1.0,
                "top_p": 1.0,
                "max_tokens": limit,
            },
            "data": {"path": job.settings.data, "sha256": job.settings.data_sha256},
            "engine": job.local.describe(),
            "versions": versions(),
            "command": shlex.join(["scapo", *sys.argv[1:]]),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        write_json(job.out / DRIFT, drift)
        return drift


def _source(job: Job, panel: Panel, limit: int) -> Source:
    if job.settings.responses is not None:
        return FileSource.read(Path(job.settings.responses), job.local, panel.problems)
    return ModelSource(job.local, job.settings.seed, limit)


def _score(job: Job, panel: Panel, source: Source, scorer: Scorer) -> None:
    """Append the records of all responses that panel.jsonl lacks."""
    path = job.out / PANEL
    cut_torn_tail(path)
    done = {(row["problem_id"], row["sample"]) for _, row in read_jsonl(path)} if path.exists() else set()
    wanted = panel_keys(source, panel.problems, job.settings.samples)
    missing = [(problem, sample) for problem, sample in wanted if (problem.id, sample) not in done]
    job.advance("responses", len(wanted) - len(missing), len(wanted))
    with JsonlAppender(path) as file:
        for count in score_panel(source, scorer, missing, job.block, lambda rows: file.append(*rows)):
            job.advance("responses", count, len(wanted))


def _cases(job: Job, panel: Panel, source: Source, scorer: Scorer) -> int:
    """Append the case studies that cases.jsonl lacks; returns how many it holds."""
    path = job.out / CASES
    cut_torn_tail(path)
    done = {row["problem_id"] for _, row in read_jsonl(path)} if path.exists() else set()
    job.advance("groups to read", min(len(done), job.cases), job.cases)
    with JsonlAppender(path) as file:

        def keep(row: dict[str, Any]) -> None:
            file.append(row)
            job.advance("groups to read", 1, job.cases)

        group, lam = job.settings.group, job.settings.lam
        return collect_cases(
            source, scorer, panel.problems, count=job.cases, group=group, lam=lam, done=done, keep=keep
        )


def _with_sums(path: Path) -> Iterator[dict[str, Any]]:
    for _, row in read_jsonl(path):
        if row["sums"] is not None:
            yield {"problem_id": row["problem_id"], **row["sums"]}


def _counts(path: Path) -> dict[str, Any]:
    """The noise floor (null when nothing was scored twice), and how many responses were cut at the limit."""
    tokens, noise, truncated = 0, 0.0, 0
    for _, row in read_jsonl(path):
        count, total = row.get("noise", (0, 0.0))
        tokens, noise, truncated = tokens + count, noise + total, truncated + bool(row["truncated"])
    return {"noise_floor": noise / tokens if tokens else None, "noise_tokens": tokens, "truncated": truncated}
