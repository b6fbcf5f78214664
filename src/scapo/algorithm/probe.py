"""The probe: log-probs of the same response tokens under the original prompt and under its rewrites.

Each prompt of a context is run once and its key-value cache shared by all its responses; then only response
tokens pass through the model, and only their hidden states through the head. Every context of a batch runs in
the same shapes with the same padding, as its own call: equal prompts give bit-equal log-probs.

Shape suffixes: _K perturbations, _N rows (responses), _T response positions; in one batch _U prompts,
_W prompt columns (left-padded), _B rows, _S columns, _H hidden size, _M valid tokens.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from scapo.algorithm.causal_lm import CausalLM, scoring_mode, select_rows
from scapo.algorithm.drift import probability_drift
from scapo.algorithm.probe_plan import Batch, ProbeRow, check_rows, plan_batches

BATCH_TOKENS_CPU = 2048
BATCH_TOKENS_GPU = 16384
"""Padded tokens per forward call. On a CPU small batches are faster (they stay in its caches)."""
NOISE_SHIFT = 7
"""The noise pass has so many more columns of left padding and, with rotary embeddings, starts at this
position: neither changes the function, both change what is rounded, much as another prompt does."""


@dataclass(frozen=True, kw_only=True)
class ProbeResult:
    """What the probe measured, on the model's device.

    logp_clean (N, T), logp_perturbed (K, N, T): float32 nats; 0 outside the mask, NaN for an absent
    perturbation. mask (N, T) and present (K, N): bool.
    noise_drift (M,): drift of the original prompt against itself for the tokens of a few rows that were
    scored again with other neighbours, padding and first position: what rounding alone does.
    """

    logp_clean: Tensor
    logp_perturbed: Tensor
    mask: Tensor
    present: Tensor
    noise_drift: Tensor

    @property
    def drift(self) -> Tensor:
        """(K, N, T), see `probability_drift`; NaN for an absent perturbation."""
        return probability_drift(self.logp_clean, self.logp_perturbed)

    @property
    def noise_floor(self) -> float:
        """Mean of `noise_drift`; NaN when nothing was scored again."""
        return float(self.noise_drift.mean())


def response_logprobs(
    model: Any,
    rows: Sequence[ProbeRow],
    *,
    temperature: float = 1.0,
    batch_tokens: int | None = None,
    noise_rows: int = 8,
    share_prompts: bool = True,
) -> ProbeResult:
    """Teacher-forced log-probs of every response under its original and its perturbed prompts (for eq. 1, 6).

    Runs in evaluation mode without gradients, under the caller's autocast if any, and puts the training mode
    back. Head and log-softmax are float32. No (N, T, V) tensor is ever made.

    Args:
        model: a transformers causal LM (unwrapped; PEFT is fine).
        rows: N rows; rows with equal contexts form a prompt group and share the prompt's pass.
        temperature: the sampling temperature of the rollouts.
        batch_tokens: padded tokens per forward call; None: 2,048 on a CPU, else 16,384. A longer row runs
            alone.
        noise_rows: at most so many rows, spread over all, are scored again for the noise floor (0: none).
        share_prompts: False scores prompt and response in one pass per row: slower, the same numbers up to
            rounding. Taken by itself for models whose cache can't be shared (recurrent layers).

    Raises:
        ScapoError: when rows don't fit together, or the model can't be probed (see `CausalLM.of`).
    """
    K = check_rows(rows)
    with scoring_mode(model):
        lm = CausalLM.of(model, rows[0].clean)
        if lm.cache_name is None or not share_prompts:
            lm = replace(lm, cache_name=None)
        budget = batch_tokens or (BATCH_TOKENS_CPU if lm.device.type == "cpu" else BATCH_TOKENS_GPU)
        targets_NT, mask_NT = right_padded([row.response for row in rows], lm.device)
        logp = torch.zeros(K + 1, *mask_NT.shape, device=lm.device)
        for batch in plan_batches(rows, budget):
            for k in range(K + 1):
                _score_context(lm, batch, k, targets_NT, mask_NT, temperature, out_NT=logp[k])
        noise_M = _noise_drift(lm, rows, logp[0], noise_rows, temperature, budget)
    present_NK = [[text is not None for text in row.perturbed] for row in rows]
    present_KN = torch.tensor(present_NK, dtype=torch.bool, device=lm.device).reshape(len(rows), K).T
    absent_KNT = mask_NT & ~present_KN[:, :, None]
    return ProbeResult(
        logp_clean=logp[0],
        logp_perturbed=logp[1:].masked_fill(absent_KNT, float("nan")),
        mask=mask_NT,
        present=present_KN,
        noise_drift=noise_M,
    )


def _score_context(
    lm: CausalLM,
    batch: Batch,
    k: int,
    targets_NT: Tensor,
    mask_NT: Tensor,
    temperature: float,
    out_NT: Tensor,
) -> None:
    """Write the log-probs of the batch's rows under context k (0: the original prompt) into `out_NT`."""
    prompt_UW, real_UW = left_padded([prompt[k] for prompt in batch.prompts], batch.width, lm.device)
    shared = lm.run(prompt_UW, real_UW, keep_cache=True) if lm.cache_name else None
    for chunk in batch.chunks:
        rows_B, which_B = (torch.tensor(column, device=lm.device) for column in zip(*chunk, strict=True))
        T = int(mask_NT[rows_B].sum(dim=1).max())
        targets_BT, mask_BT = targets_NT[rows_B, :T], mask_NT[rows_B, :T]
        ids_BS, real_BS = targets_BT[:, :-1], torch.cat([real_UW[which_B], mask_BT[:, :-1].long()], dim=1)
        if shared is None:
            ids_BS = torch.cat([prompt_UW[which_B], ids_BS], dim=1)
            hidden_BTH = lm.run(ids_BS, real_BS)[0][:, batch.width - 1 :]
        else:
            hidden_BTH = _after_prompt(lm, shared, which_B, ids_BS, real_BS)
        logp_BT = out_NT.new_zeros(mask_BT.shape)
        logp_BT[mask_BT] = lm.logprobs(hidden_BTH[mask_BT], targets_BT[mask_BT], temperature)
        out_NT[rows_B, :T] = logp_BT


def _after_prompt(
    lm: CausalLM, shared: tuple[Tensor, Any], which_B: Tensor, ids_BS: Tensor, real_BS: Tensor
) -> Tensor:
    """Hidden states that predict each response token (B, T, H): the prompt's last, then the response's."""
    prompt_UWH, cache = shared
    first_B1H = prompt_UWH[which_B, -1:]
    if ids_BS.shape[1] == 0:
        return first_B1H
    hidden_BSH, _ = lm.run(ids_BS, real_BS, select_rows(cache, which_B))
    return torch.cat([first_B1H, hidden_BSH], dim=1)


def _noise_drift(
    lm: CausalLM, rows: Sequence[ProbeRow], logp_NT: Tensor, count: int, temperature: float, budget: int
) -> Tensor:
    """Score up to `count` rows once more under the original prompt, in other shapes: (M,) drift."""
    scored = [n for n, row in enumerate(rows) if row.response]
    chosen = scored[:: max(1, math.ceil(len(scored) / count))] if count else []
    picked = [ProbeRow(clean=rows[n].clean, perturbed=(), response=rows[n].response) for n in chosen]
    targets_NT, mask_NT = right_padded([row.response for row in picked], lm.device)
    again_NT = logp_NT.new_zeros(mask_NT.shape)
    lm = replace(lm, first_position=NOISE_SHIFT if lm.rotary else 0)
    for batch in plan_batches(picked, budget):
        wider = replace(batch, width=batch.width + NOISE_SHIFT)
        _score_context(lm, wider, 0, targets_NT, mask_NT, temperature, out_NT=again_NT)
    before_NT = logp_NT[chosen, : mask_NT.shape[1]]
    return probability_drift(before_NT[mask_NT], again_NT[mask_NT][None])[0]


def left_padded(texts: Sequence[Sequence[int]], width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids (U, W) with zeros on the left, and a long mask that is 1 at real tokens."""
    ids = torch.tensor([[0] * (width - len(text)) + list(text) for text in texts], device=device)
    real = torch.tensor([[0] * (width - len(text)) + [1] * len(text) for text in texts], device=device)
    return ids, real


def right_padded(texts: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids (N, T) with zeros on the right, and a bool mask that is True at real tokens."""
    width = max(map(len, texts), default=0)
    lengths = torch.tensor([len(text) for text in texts], device=device)
    padded = [[*text, *[0] * (width - len(text))] for text in texts]
    ids = torch.tensor(padded, dtype=torch.long, device=device).reshape(len(texts), width)
    return ids, torch.arange(width, device=device) < lengths[:, None]
