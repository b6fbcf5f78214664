"""The compared credits: each multiplies a response's advantage by a weight per token.

Shape suffixes: _N responses of this process, _A responses of all processes, _B rows of one micro-batch,
_T response tokens.
"""

from typing import Any

import torch
from torch import Tensor

from scapo.algorithm import (
    ResponseSpans,
    find_spans,
    future_kl_weight,
    runaway_rows,
    span_drops,
    span_importance_weight,
    top_entropy_weight,
)
from scapo.algorithm.probe_plan import ProbeRow
from scapo.engines.methods import plain_constants
from scapo.engines.offsets import text_and_offsets
from scapo.engines.trl.config import ScapoConfig
from scapo.engines.trl.credit import OutcomeCredit, Rollout
from scapo.engines.trl.objective import logprobs_and_entropies, per_token

NO_SPANS = ResponseSpans(spans=(), answer=None)


class WeightCredit(OutcomeCredit):
    """A weight per token that is fixed for all optimiser steps of a rollout: the advantage is w * A."""

    KEY = "credit_weight"

    def __init__(self, config: ScapoConfig) -> None:
        super().__init__(config)
        self.constants = plain_constants(config.credit_constants)

    def weight(self, trainer: Any, rollout: Rollout) -> Tensor:
        """(N, T), by the policy that sampled the rollout."""
        raise NotImplementedError

    def after_rollout(self, trainer: Any, rollout: Rollout) -> dict[str, Tensor]:
        weight_NT = trainer._timed("probe", self.weight, trainer, rollout)
        rollout.weight_NT = weight_NT
        spread = trainer._gather_flat(weight_NT[rollout.mask_NT])
        if len(spread) > 1:
            trainer._metrics["train"]["credit/weight_std"].append(spread.std().item())
        return {self.KEY: weight_NT}

    def at_step(self, inputs: dict[str, Any], step: int) -> Tensor:
        return inputs["advantages"][:, None] * inputs[self.KEY]


class CfGrpoCredit(WeightCredit):
    """CF-GRPO (arXiv:2602.09331): tokens of the spans whose masking makes the answer less likely weigh more."""

    def weight(self, trainer: Any, rollout: Rollout) -> Tensor:
        found = [
            find_spans(*text_and_offsets(trainer._tokenizer, ids)) if counts else NO_SPANS
            for ids, counts in zip(rollout.completion_ids, rollout.mask_NT.any(dim=1).tolist(), strict=True)
        ]
        drops: list[list[float]] = [[] for _ in found]
        masked = [n for n, spans in enumerate(found) if spans.spans]
        for n, values in zip(masked, self._drops(trainer, rollout, found, masked), strict=True):
            drops[n] = values
        return span_importance_weight(
            drops, [spans.spans for spans in found], rollout.mask_NT, **self.constants
        )

    def _drops(
        self, trainer: Any, rollout: Rollout, found: list[ResponseSpans], masked: list[int]
    ) -> list[list[float]]:
        if not masked:
            return []
        rows = [
            ProbeRow(clean=rollout.prompt_ids[n], perturbed=(), response=rollout.completion_ids[n])
            for n in masked
        ]
        with trainer.accelerator.autocast():
            return span_drops(
                trainer.accelerator.unwrap_model(trainer.model),
                rows,
                [found[n] for n in masked],
                trainer._tokenizer.pad_token_id,
                temperature=trainer.args.temperature,
                batch_tokens=trainer.args.probe_tokens,
            )


class EntropyTopCredit(WeightCredit):
    """80/20 (arXiv:2506.01939): only the fifth of the batch's tokens with the highest entropy is learnt from."""

    def weight(self, trainer: Any, rollout: Rollout) -> Tensor:
        accelerator, (N, T) = trainer.accelerator, rollout.mask_NT.shape
        with torch.no_grad():
            _, entropy_NT = logprobs_and_entropies(
                trainer, trainer.model, rollout.batch, trainer.args.per_device_train_batch_size
            )
        entropy_AT, mask_AT = (
            accelerator.gather(accelerator.pad_across_processes(values, dim=1))
            for values in (entropy_NT.float(), rollout.mask_NT.long())
        )
        start = accelerator.process_index * N
        return top_entropy_weight(entropy_AT, mask_AT.bool(), **self.constants)[start : start + N, :T]


class FipoCredit(OutcomeCredit):
    """FIPO (arXiv:2603.19835): tokens whose continuation the update has made likelier weigh more.

    The weight is taken anew at every optimiser step, from the log-probs that the loss is made of. Responses
    with more than one token on the dual clip leave the loss, as in the authors' code (`drop_runaway`); the
    token count that "dapo" divides by stays that of the whole update.
    """

    uses_current_policy = True

    def __init__(self, config: ScapoConfig) -> None:
        super().__init__(config)
        self.constants = plain_constants(config.credit_constants)
        self.drop_runaway = bool(self.constants.pop("drop_runaway", True))

    def at_loss(
        self, advantage: Tensor, logp_BT: Tensor, old_BT: Tensor, mask_BT: Tensor
    ) -> tuple[Tensor, Tensor]:
        weight_BT = future_kl_weight(logp_BT, old_BT, advantage, mask_BT, **self.constants)
        if self.drop_runaway:
            bound = self.constants.get("dual_clip", 10.0)
            mask_BT = mask_BT & ~runaway_rows(logp_BT, old_BT, advantage, mask_BT, bound)[:, None]
        return per_token(advantage) * weight_BT, mask_BT
