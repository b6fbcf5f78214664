"""Cost of d-filtered decoding and of teacher-forced drift, each beside plain work of the same size, in one run.

d-filtered: N problems x (K + 1) contexts against plain generation of (K + 1) x N rows, all the same number of steps
(no stop token), bar 1.3 x. Drift: scoring N responses under K + 1 prompts against K + 1 plain forward passes (a
transformers forward with the head on the response and a log-softmax) on the same tokens in batches of the same
size, bar 1.1 x: long single responses, and groups that share their prompt as in training. Responses shorter than
their prompts, one per prompt, are shown too but miss the bar on the embedded world's tiny model (1.2 to 1.3 x): the
probe pads all contexts to the longest one and makes two small calls where the plain way makes one.

Both sides take turns; the ratio is that of the medians. On a CPU seconds are the process's own, so that neighbours
on a shared machine don't count.

Run: python benchmarks/bench_decode.py [model] [problems]
"""

import statistics
import sys
import time
from collections.abc import Callable
from importlib.resources import files
from typing import Any

DECODE_BAR, DRIFT_BAR = 1.3, 1.1
STEPS, LONG, GROUP, ROUNDS, PER_BATCH = 48, 150, 8, 5, 16


def main(model: str | None = None, problems: int = 16) -> bool:
    from scapo.decode.generate import filtered_generate
    from scapo.sampling.generate import Request, generate
    from scapo.sampling.local import LocalModel

    local = LocalModel(model or str(files("scapo.problems.world") / "base"))
    requests = filter_requests(local, problems, STEPS)
    contexts = [ids for request in requests for ids in (request.clean_ids, *request.perturbed_ids)]
    rows = [
        Request(prompt_ids=ids, seed=seed, max_tokens=STEPS, temperature=1.0, top_p=1.0)
        for seed, ids in enumerate(contexts)
    ]
    never = frozenset[int]()
    filtered, plain = alternating(
        lambda: filtered_generate(local.model, requests, never), lambda: generate(local.model, rows, never)
    )
    print(f"{len(requests)} problems, {len(rows)} rows, {STEPS} steps")
    decoding = show("d-filtered decoding", filtered, "plain generation", plain, DECODE_BAR)

    drift = [
        drift_beside_forward_passes(local, filter_requests(local, problems, LONG), f"{LONG}-token responses"),
        drift_beside_forward_passes(
            local, groups(filter_requests(local, max(1, problems // GROUP), STEPS)), f"groups of {GROUP}"
        ),
    ]
    drift_beside_forward_passes(local, requests, f"{STEPS}-token responses (shown only)")
    return decoding and all(drift)


def groups(requests: list[Any]) -> list[Any]:
    """GROUP responses of each problem, as a training step has them."""
    from dataclasses import replace

    return [replace(request, seed=GROUP * request.seed + n) for request in requests for n in range(GROUP)]


def drift_beside_forward_passes(local: Any, requests: list[Any], what: str) -> bool:
    from scapo.decode.generate import filtered_generate

    replies = filtered_generate(local.model, requests, frozenset(), mass=0.0)
    responses = [tuple(reply.ids) for reply in replies]
    probing, forward = alternating(
        lambda: probe(local, requests, responses), lambda: forward_passes(local, requests, responses)
    )
    return show(f"teacher-forced drift, {what}", probing, "K + 1 forward passes", forward, DRIFT_BAR)


def filter_requests(local: Any, problems: int, steps: int) -> list[Any]:
    """Problems of the embedded world that have all four rewrites by rule."""
    from scapo.decode.generate import FilterRequest
    from scapo.perturb.kinds import SEMIFACTUAL
    from scapo.perturb.rules import perturb_by_rule
    from scapo.problems import chat_prompt
    from scapo.problems.world.rows import world_rows

    requests: list[Any] = []
    for row in world_rows("train", 4 * problems):
        texts = [perturb_by_rule(kind, row["problem"], row["answer"], 0) for kind in SEMIFACTUAL]
        if all(texts) and len(requests) < problems:
            ids = [local.prompt_ids(chat_prompt(text)) for text in (row["problem"], *texts)]
            requests.append(
                FilterRequest(
                    clean_ids=ids[0], perturbed_ids=tuple(ids[1:]), seed=len(requests), max_tokens=steps
                )
            )
    return requests


def probe(local: Any, requests: list[Any], responses: list[tuple[int, ...]]) -> None:
    from scapo.algorithm.probe import response_logprobs
    from scapo.algorithm.probe_plan import ProbeRow

    rows = [
        ProbeRow(clean=request.clean_ids, perturbed=list(request.perturbed_ids), response=response)
        for request, response in zip(requests, responses, strict=True)
    ]
    for start in range(0, len(rows), PER_BATCH):
        response_logprobs(local.model, rows[start : start + PER_BATCH], noise_rows=0)


def forward_passes(local: Any, requests: list[Any], responses: list[tuple[int, ...]]) -> None:
    """The plainest way: prompt and response in one left-padded row, the head on response positions only."""
    import torch

    from scapo.algorithm.padding import left_padded

    steps = len(responses[0])

    for start in range(0, len(requests), PER_BATCH):
        chosen = range(start, min(start + PER_BATCH, len(requests)))
        for k in range(1 + len(requests[0].perturbed_ids)):
            texts = [(requests[n].clean_ids, *requests[n].perturbed_ids)[k] + responses[n] for n in chosen]
            ids, mask = left_padded(texts, max(map(len, texts)), local.device)
            with torch.inference_mode():
                logits = local.model(
                    input_ids=ids, attention_mask=mask, logits_to_keep=steps + 1, use_cache=False
                ).logits[:, :-1]
                logits.float().log_softmax(-1).gather(-1, ids[:, -steps:, None])


def alternating(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """Median seconds of each, taken in turn after one warm-up."""
    import torch

    clock = time.perf_counter if torch.cuda.is_available() else time.process_time
    spent: tuple[list[float], list[float]] = ([], [])
    for turn in range(ROUNDS + 1):
        for job, seconds in zip((ours, theirs), spent, strict=True):
            began = clock()
            job()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            if turn:
                seconds.append(clock() - began)
    return statistics.median(spent[0]), statistics.median(spent[1])


def show(name: str, ours: float, against: str, theirs: float, bar: float) -> bool:
    print(f"{name} {ours:.2f} s, {against} {theirs:.2f} s: {ours / theirs:.2f} x (bar {bar} x)")
    return ours <= bar * theirs


if __name__ == "__main__":
    sys.exit(0 if main(*sys.argv[1:2], *map(int, sys.argv[2:3])) else 1)
