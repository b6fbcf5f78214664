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
from scapo.algorithm.padding import left_padded, right_padded
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
        if not share_prompts:
            lm = replace(lm, cache_name=None)
        budget = batch_tokens or (BATCH_TOKENS_CPU if lm.device.type == "cpu" else BATCH_TOKENS_GPU)
        scorer = _Scorer.of(lm, rows, temperature)
        logp = scorer.score(plan_batches(rows, budget), K + 1)
        noise_M = _noise_drift(scorer, rows, logp[0], noise_rows, budget)
    present_NK = [[text is not None for text in row.perturbed] for row in rows]
    present_KN = torch.tensor(present_NK, dtype=torch.bool, device=lm.device).reshape(len(rows), K).T
    absent_KNT = scorer.mask_NT & ~present_KN[:, :, None]
    return ProbeResult(
        logp_clean=logp[0],
        logp_perturbed=logp[1:].masked_fill(absent_KNT, float("nan")),
        mask=scorer.mask_NT,
        present=present_KN,
        noise_drift=noise_M,
    )


@dataclass(frozen=True, kw_only=True)
class _Scorer:
    """A model and the responses that it scores; targets_NT holds their ids, right-padded."""

    lm: CausalLM
    targets_NT: Tensor
    mask_NT: Tensor
    temperature: float

    @classmethod
    def of(cls, lm: CausalLM, rows: Sequence[ProbeRow], temperature: float) -> "_Scorer":
        targets_NT, mask_NT = right_padded([row.response for row in rows], lm.device)
        return cls(lm=lm, targets_NT=targets_NT, mask_NT=mask_NT, temperature=temperature)

    def score(self, batches: Sequence[Batch], contexts: int) -> Tensor:
        """Log-probs under the first `contexts` contexts (0: the original prompt), (contexts, N, T)."""
        logp = torch.zeros(contexts, *self.mask_NT.shape, device=self.lm.device)
        for batch in batches:
            for k in range(contexts):
                self._score_context(batch, k, logp[k])
        return logp

    def _score_context(self, batch: Batch, k: int, out_NT: Tensor) -> None:
        """Write the log-probs of the batch's rows under context k into `out_NT`."""
        prompts = [prompt[k] for prompt in batch.prompts]
        prompt_UW, real_UW = left_padded(prompts, batch.width, self.lm.device)
        shared = self.lm.run(prompt_UW, real_UW, keep_cache=True) if self.lm.cache_name else None
        for chunk in batch.chunks:
            rows_B, which_B = (torch.tensor(x, device=self.lm.device) for x in zip(*chunk, strict=True))
            T = int(self.mask_NT[rows_B].sum(dim=1).max())
            ids_BT, mask_BT = self.targets_NT[rows_B, :T], self.mask_NT[rows_B, :T]
            real_BS = torch.cat([real_UW[which_B], mask_BT[:, :-1].long()], dim=1)
            if shared is None:
                hidden_BTH = _after_prompt(self.lm, prompt_UW[which_B], ids_BT[:, :-1], real_BS)
            else:
                hidden_BTH = _after_shared_prompt(self.lm, shared, which_B, ids_BT[:, :-1], real_BS)
            logp_BT = out_NT.new_zeros(mask_BT.shape)
            logp_BT[mask_BT] = self.lm.logprobs(hidden_BTH[mask_BT], ids_BT[mask_BT], self.temperature)
            out_NT[rows_B, :T] = logp_BT


def _after_prompt(lm: CausalLM, prompt_BW: Tensor, ids_BS: Tensor, real_BS: Tensor) -> Tensor:
    """Hidden states that predict each response token, (B, T, H): prompt and response in one pass."""
    hidden_BSH, _ = lm.run(torch.cat([prompt_BW, ids_BS], dim=1), real_BS)
    return hidden_BSH[:, prompt_BW.shape[1] - 1 :]


def _after_shared_prompt(
    lm: CausalLM, shared: tuple[Tensor, Any], which_B: Tensor, ids_BS: Tensor, real_BS: Tensor
) -> Tensor:
    """The same from the prompts' hidden states and cache: the prompt's last state, then the response's."""
    prompt_UWH, cache = shared
    first_B1H = prompt_UWH[which_B, -1:]
    if ids_BS.shape[1] == 0:
        return first_B1H
    hidden_BSH, _ = lm.run(ids_BS, real_BS, select_rows(cache, which_B))
    return torch.cat([first_B1H, hidden_BSH], dim=1)


def _noise_drift(
    scorer: _Scorer, rows: Sequence[ProbeRow], logp_NT: Tensor, count: int, budget: int
) -> Tensor:
    """Score up to `count` rows once more under the original prompt, in other shapes: (M,) drift."""
    with_response = [n for n, row in enumerate(rows) if row.response]
    chosen = with_response[:: max(1, math.ceil(len(with_response) / count))] if count else []
    picked = [ProbeRow(clean=rows[n].clean, perturbed=(), response=rows[n].response) for n in chosen]
    lm = replace(scorer.lm, first_position=NOISE_SHIFT if scorer.lm.rotary else 0)
    again = _Scorer.of(lm, picked, scorer.temperature)
    batches = [replace(batch, width=batch.width + NOISE_SHIFT) for batch in plan_batches(picked, budget)]
    again_NT, before_NT = again.score(batches, 1)[0], logp_NT[chosen, : again.mask_NT.shape[1]]
    return probability_drift(before_NT[again.mask_NT], again_NT[again.mask_NT][None])[0]
