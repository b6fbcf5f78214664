"""Batched sampling from a transformers model: a seed per row, exact stops, finished rows leave.

Shapes: B rows in the batch, P distinct prompts, T prompt tokens, V vocabulary.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import DynamicCache

from scapo.sampling.noise import RowNoise, pick


@dataclass(frozen=True, kw_only=True)
class Request:
    """One response to sample. `max_tokens` counts response tokens, the stop token included."""

    prompt_ids: tuple[int, ...]
    seed: int
    max_tokens: int
    temperature: float
    top_p: float

    @property
    def batch_key(self) -> tuple[float, float]:
        """Requests share a batch only under one temperature and top-p."""
        return self.temperature, self.top_p


@dataclass
class Reply:
    """Sampled ids without the stop token; `tokens` counts them with it; truncated: the limit came first."""

    ids: list[int] = field(default_factory=list)
    tokens: int = 0
    truncated: bool = False


@torch.inference_mode()
def generate(model: Any, requests: Sequence[Request], stop_ids: frozenset[int]) -> list[Reply]:
    """Sample one reply per request, all under one temperature and top-p."""
    temperature, top_p = requests[0].batch_key
    replies = [Reply() for _ in requests]
    noise = [RowNoise(request.seed) for request in requests]
    rows = RunningBatch(model, [request.prompt_ids for request in requests])
    while rows.alive:
        uniform_B = torch.tensor([noise[row].draw() for row in rows.alive], dtype=torch.float64)
        tokens_B = pick(rows.logits_BV, uniform_B, temperature, top_p)
        going = [
            extend(replies[row], token, requests[row].max_tokens, stop_ids)
            for row, token in zip(rows.alive, tokens_B.tolist(), strict=True)
        ]
        rows.step(tokens_B, [place for place, alive in enumerate(going) if alive])
    return replies


def extend(reply: Reply, token: int, max_tokens: int, stop_ids: frozenset[int]) -> bool:
    """Add one token to a reply; False when that ended it."""
    reply.tokens += 1
    if token in stop_ids:
        return False
    reply.ids.append(token)
    reply.truncated = reply.tokens >= max_tokens
    return not reply.truncated


class RunningBatch:
    """The running batch: which requests are alive, their cache, mask, next position and next logits.

    A prompt is read once, however many responses it gets.
    """

    def __init__(self, model: Any, prompts: Sequence[tuple[int, ...]]) -> None:
        self.model = model
        self.alive = list(range(len(prompts)))
        place = {prompt: row for row, prompt in enumerate(dict.fromkeys(prompts))}
        ids_PT, self.mask_BT = _left_pad(list(place), model.device)
        positions_PT = (self.mask_BT.cumsum(-1) - 1).clamp(min=0)
        self.next_B = positions_PT[:, -1] + 1
        self.cache = DynamicCache(config=model.config)
        self.options = _forward_options(model, self.cache)
        self._forward(ids_PT, positions_PT)
        self._select([place[prompt] for prompt in prompts])

    def _forward(self, ids: torch.Tensor, positions: torch.Tensor) -> None:
        output = self.model(
            input_ids=ids,
            attention_mask=self.mask_BT,
            position_ids=positions,
            use_cache=True,
            **self.options,
        )
        self.logits_BV = output.logits[:, -1]

    def _select(self, rows: list[int]) -> None:
        """Keep (or repeat) these rows of the state; nothing is copied when that changes nothing."""
        if rows == list(range(len(self.mask_BT))):
            return
        rows_B: Any = torch.tensor(rows, device=self.mask_BT.device)
        self.mask_BT, self.next_B = self.mask_BT[rows_B], self.next_B[rows_B]
        self.logits_BV = self.logits_BV[rows_B.to(self.logits_BV.device)]
        self.cache.reorder_cache(rows_B)  # any selection; every kind of layer has it

    def step(self, tokens_B: torch.Tensor, keep: list[int]) -> None:
        """Drop the rows that ended and run the model on the others' new tokens."""
        self.alive = [self.alive[place] for place in keep]
        if not keep:
            return
        self._select(keep)
        tokens_B = tokens_B.to(self.mask_BT.device)[keep]
        self.mask_BT = torch.cat([self.mask_BT, self.mask_BT.new_ones(len(keep), 1)], dim=1)
        self._forward(tokens_B[:, None], self.next_B[:, None])
        self.next_B = self.next_B + 1


def _forward_options(model: Any, cache: DynamicCache) -> dict[str, Any]:
    """Names that differ between models and transformers releases."""
    known = inspect.signature(model.forward).parameters
    options: dict[str, Any] = {"cache" if "cache" in known else "past_key_values": cache}
    return options | ({"logits_to_keep": 1} if "logits_to_keep" in known else {})


def _left_pad(prompts: Sequence[tuple[int, ...]], device: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and mask; the pad id is 0, which the mask hides."""
    width = max(map(len, prompts))
    ids = torch.zeros(len(prompts), width, dtype=torch.long)
    mask = torch.zeros(len(prompts), width, dtype=torch.long)
    for row, prompt in enumerate(prompts):
        ids[row, width - len(prompt) :] = torch.tensor(prompt)
        mask[row, width - len(prompt) :] = 1
    return ids.to(device), mask.to(device)
