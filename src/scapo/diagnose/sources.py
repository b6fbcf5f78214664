"""Where responses come from: the model itself (seeded, the same in any batch), or a file of responses."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from scapo.algorithm.causal_lm import CausalLM, scoring_mode
from scapo.errors import ScapoError
from scapo.files import read_jsonl
from scapo.problems import Problem, chat_prompt
from scapo.sampling.generate import Reply, Request
from scapo.sampling.local import LocalModel
from scapo.sampling.noise import sample_seed


@dataclass(frozen=True, kw_only=True)
class Response:
    """One response to one problem: its token ids with the stop token that ended it, and its text without."""

    problem: Problem
    sample: int
    seed: int | None
    ids: list[int]
    truncated: bool
    completion: str


Wanted = tuple[Problem, int]  # which sample of which problem


class Source(Protocol):
    """Something that yields responses; `samples` says how many of a problem's it has."""

    def samples(self, problem: Problem, wanted: int) -> int: ...

    def draw(self, wanted: Sequence[Wanted]) -> list[Response]: ...


@dataclass(frozen=True)
class ModelSource:
    """Samples from the model at T = 1, top-p = 1. A sample is a pure function of (seed, problem, number)."""

    local: LocalModel
    seed: int
    max_tokens: int

    def samples(self, problem: Problem, wanted: int) -> int:
        return wanted

    def draw(self, wanted: Sequence[Wanted]) -> list[Response]:
        requests = [self._request(problem, sample) for problem, sample in wanted]
        replies = self.local.reply(requests)
        return [
            Response(
                problem=problem,
                sample=sample,
                seed=request.seed,
                ids=reply.ids if reply.truncated else [*reply.ids, self._stop(request, reply)],
                truncated=reply.truncated,
                completion=self.local.text(reply),
            )
            for (problem, sample), request, reply in zip(wanted, requests, replies, strict=True)
        ]

    def _request(self, problem: Problem, sample: int) -> Request:
        return Request(
            prompt_ids=tuple(self.local.prompt_ids(chat_prompt(problem))),
            seed=sample_seed(self.seed, "diagnose", problem.id, sample),
            max_tokens=self.max_tokens,
            temperature=1.0,
            top_p=1.0,
        )

    def _stop(self, request: Request, reply: Reply) -> int:
        """The stop token that ended a reply: the likeliest one there, as the sampler does not say which."""
        stops = sorted(self.local.stop_ids)
        if len(stops) == 1:
            return stops[0]
        ids = [*request.prompt_ids, *reply.ids]
        with scoring_mode(self.local.model):
            lm = CausalLM.of(self.local.model, ids)
            ids_BS = torch.tensor([ids], device=lm.device)
            last_H = lm.run(ids_BS, torch.ones_like(ids_BS))[0][0, -1]
            targets = torch.tensor(stops, device=lm.device)
            return stops[int(lm.logprobs(last_H.expand(len(stops), -1), targets, 1.0).argmax())]


@dataclass(frozen=True)
class FileSource:
    """Responses from a JSONL file with `problem_id` and `completion` (and `truncated`), in file order."""

    local: LocalModel
    rows: dict[str, list[dict[str, Any]]]

    @classmethod
    def read(cls, path: Path, local: LocalModel, problems: Sequence[Problem]) -> "FileSource":
        return cls(local, read_responses(path, problems))

    def samples(self, problem: Problem, wanted: int) -> int:
        return min(wanted, len(self.rows.get(problem.id, ())))

    def draw(self, wanted: Sequence[Wanted]) -> list[Response]:
        return [self._response(problem, sample) for problem, sample in wanted]

    def _response(self, problem: Problem, sample: int) -> Response:
        row = self.rows[problem.id][sample]
        truncated = bool(row.get("truncated"))
        ids = list(self.local.tokenizer.encode(row["completion"], add_special_tokens=False))
        stop = self.local.tokenizer.eos_token_id
        return Response(
            problem=problem,
            sample=sample,
            seed=row.get("seed"),
            ids=ids if truncated or stop is None else [*ids, stop],
            truncated=truncated,
            completion=row["completion"],
        )


def read_responses(path: Path, problems: Sequence[Problem]) -> dict[str, list[dict[str, Any]]]:
    """Rows by problem id, only those of `problems`. Raises ScapoError naming file, line and remedy."""
    known = {problem.id for problem in problems}
    rows: dict[str, list[dict[str, Any]]] = {}
    number = 0
    for number, row in read_jsonl(path):
        missing = [name for name in ("problem_id", "completion") if not isinstance(row.get(name), str)]
        if missing:
            raise ScapoError(
                f"{path}, line {number}: no text under {' and '.join(missing)}; found {', '.join(row)}. "
                "A response row has problem_id, completion and, if it was cut, truncated: true."
            )
        if row["problem_id"] in known:
            rows.setdefault(row["problem_id"], []).append(row)
    if not rows:
        found = (
            "it is empty" if number == 0 else f"none of its {number} lines has a problem_id of the problems"
        )
        raise ScapoError(f"{path} holds no usable response: {found}. Give responses to the same problems.")
    return rows
