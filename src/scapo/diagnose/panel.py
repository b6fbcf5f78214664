"""Teacher-forced drift over a fixed panel, block by block: nothing per token outlives its block."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from scapo.algorithm.probe import ProbeResult, response_logprobs
from scapo.algorithm.probe_plan import ProbeRow
from scapo.diagnose.classes import TokenClass
from scapo.diagnose.sources import Response, Source, Wanted
from scapo.diagnose.statistics import response_sums
from scapo.diagnose.tokens import TokenTexts
from scapo.problems import Problem, chat_prompt
from scapo.sampling.local import LocalModel

NOISE_EVERY = 16
"""One response in so many is scored a second time for the noise floor."""


@dataclass(frozen=True)
class Scored:
    """Responses (N) of one block with the probe's result: log-probs (K, N, T) under their prompts."""

    responses: Sequence[Response]
    result: ProbeResult

    def kinds_of(self, n: int, kinds: Sequence[str]) -> list[str]:
        """The kinds of rewrite that row n has."""
        return [kind for kind, there in zip(kinds, self.result.present[:, n].tolist(), strict=True) if there]

    def logprobs_of(self, n: int) -> tuple[Tensor, Tensor]:
        """Row n without padding: clean (T,) and perturbed (K present, T)."""
        mask_T, there_K = self.result.mask[n], self.result.present[:, n]
        return self.result.logp_clean[n, mask_T], self.result.logp_perturbed[there_K, n][:, mask_T]


class Scorer:
    """Scores responses under the original prompt and its rewrites, all in one code path."""

    def __init__(self, local: LocalModel, kinds: Sequence[str], batch_tokens: int | None = None) -> None:
        self.local, self.kinds, self.batch_tokens = local, list(kinds), batch_tokens
        self.texts = TokenTexts(local.tokenizer)

    def score(self, responses: Sequence[Response]) -> Scored:
        rows = [self._row(response) for response in responses]
        noise = max(1, len(rows) // NOISE_EVERY)
        result = response_logprobs(
            self.local.model, rows, temperature=1.0, batch_tokens=self.batch_tokens, noise_rows=noise
        )
        return Scored(responses, result)

    def classes(self, response: Response) -> list[TokenClass]:
        return self.texts.classes(response.ids)

    def _row(self, response: Response) -> ProbeRow:
        rewrites = [response.problem.perturbations.get(kind) for kind in self.kinds]
        return ProbeRow(
            clean=self.local.prompt_ids(chat_prompt(response.problem)),
            perturbed=[
                None if text is None else self.local.prompt_ids(chat_prompt(text)) for text in rewrites
            ],
            response=response.ids,
        )


def panel_keys(source: Source, problems: Sequence[Problem], samples: int) -> list[Wanted]:
    """Every (problem, sample) of the panel that the source can give, in order."""
    return [(problem, sample) for problem in problems for sample in range(source.samples(problem, samples))]


def score_panel(
    source: Source,
    scorer: Scorer,
    wanted: Sequence[Wanted],
    block: int,
    keep: Callable[[list[dict[str, Any]]], None],
) -> Iterator[int]:
    """Draw and score `wanted` in blocks, hand each block's records to `keep`, yield how many are done."""
    for start in range(0, len(wanted), block):
        responses = source.draw(wanted[start : start + block])
        keep(block_records(scorer, responses))
        yield len(responses)


def block_records(scorer: Scorer, responses: Sequence[Response]) -> list[dict[str, Any]]:
    """One JSON-ready record per response: what was sampled, and the sums of its drift.

    The block's noise drift travels with its first record. A response without a token has no sums.
    """
    with_tokens = [response for response in responses if response.ids]
    scored = scorer.score(with_tokens) if with_tokens else None
    sums = _sums(scorer, scored) if scored else []
    places = iter(range(len(with_tokens)))
    records = [{**_head(r), "sums": sums[next(places)] if r.ids else None} for r in responses]
    if scored is not None:
        noise_M = scored.result.noise_drift.double()
        records[0]["noise"] = [noise_M.numel(), float(noise_M.sum())]
    return records


def _sums(scorer: Scorer, scored: Scored) -> list[dict[str, Any]]:
    scored = Scored(scored.responses, _on_cpu(scored.result))
    return [
        response_sums(*scored.logprobs_of(n), scorer.classes(response), scored.kinds_of(n, scorer.kinds))
        for n, response in enumerate(scored.responses)
    ]


def _on_cpu(result: ProbeResult) -> ProbeResult:
    return ProbeResult(
        **{name: value.cpu() for name, value in vars(result).items() if torch.is_tensor(value)}
    )


def _head(response: Response) -> dict[str, Any]:
    return {
        "problem_id": response.problem.id,
        "sample": response.sample,
        "seed": response.seed,
        "completion": response.completion,
        "truncated": response.truncated,
        "tokens": len(response.ids),
    }
