"""The parts of a transformers-like causal language model that scoring needs, found by duck typing.

Shape suffixes: _B rows of one batch, _S columns (prompt, response or both), _H hidden size, _V vocabulary.
"""

import copy
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from scapo.algorithm.logprobs import selected_logprobs
from scapo.errors import ScapoError

CHECK_TOKENS = 16
"""Prompt tokens on which our logits are compared with the model's own: a few show any scale or cap."""
CHECK_TOLERANCE = 2e-3
CHECK_TOLERANCE_HALF = 0.5
"""Log-prob differences (nats) allowed in that comparison: bf16 logits near 40 are up to 0.125 off each."""


@contextmanager
def scoring_mode(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; afterwards every submodule is back in the mode it had."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True


@dataclass(frozen=True, kw_only=True)
class CausalLM:
    """Backbone and head of a decoder-only model, called apart so that only chosen positions meet the head.

    `logit_scale` multiplies the head's output, `softcap` then squashes it (softcap * tanh(logits / softcap)).
    `cache_name` is the forward's argument for its key-value cache; None when caches can't be shared by rows.
    `rotary`: whether positions are relative, so that starting at `first_position` changes only rounding.
    """

    backbone: nn.Module
    head_weight: Tensor
    head_bias: Tensor | None
    logit_scale: float
    softcap: float | None
    cache_name: str | None
    takes_positions: bool
    rotary: bool
    first_position: int = 0

    @classmethod
    def of(cls, model: Any, sample: Sequence[int]) -> "CausalLM":
        """Take `model` apart, and compare log-probs with the model's own on the first tokens of `sample`.

        Adapters (PEFT) inside the backbone are kept. Call it in `scoring_mode`.

        Raises:
            ScapoError: when the model is no decoder-only LM with a plain linear head, or when the comparison
                shows logits that backbone and head don't explain.
        """
        head, config = _plain_head(model), model.config.get_text_config()
        backbone = model.get_decoder()
        parameters = inspect.signature(backbone.forward).parameters
        names = [name for name in ("cache", "past_key_values") if name in parameters]
        found = cls(
            backbone=backbone,
            head_weight=head.weight,
            head_bias=head.bias,
            logit_scale=_number(config, "logit_scale", 1.0)
            * _number(config, "lm_head_multiplier", 1.0)
            / _number(config, "logits_scaling", 1.0),
            softcap=_number(config, "final_logit_softcapping", 0.0) or None,
            cache_name=names[0] if names else None,
            takes_positions="position_ids" in parameters,
            rotary=any(getattr(config, name, None) for name in ("rope_parameters", "rope_theta")),
        )
        return found._checked_against(model, sample)

    @property
    def device(self) -> torch.device:
        return self.head_weight.device

    def run(
        self, ids_BS: Tensor, mask: Tensor, cache: Any = None, *, keep_cache: bool = False
    ) -> tuple[Tensor, Any]:
        """Hidden states (B, S, H) of the last S columns of `mask`, and the cache when it is kept.

        `mask` (B, cached columns + S) is 1 at real tokens. Position ids count real tokens only, so padding on
        the left moves nothing.
        """
        arguments: dict[str, Any] = {
            "input_ids": ids_BS,
            "attention_mask": mask,
            "use_cache": keep_cache or cache is not None,
        }
        if self.takes_positions:
            position_BS = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -ids_BS.shape[1] :]
            arguments["position_ids"] = position_BS + self.first_position
        if cache is not None:
            arguments[str(self.cache_name)] = cache
        out = self.backbone(**arguments)
        return out.last_hidden_state, getattr(out, str(self.cache_name), None) if keep_cache else None

    def logprobs(self, hidden: Tensor, targets: Tensor, temperature: float) -> Tensor:
        """log softmax(logits / temperature)[target] in float32; hidden (..., H), targets (...)."""
        return selected_logprobs(
            hidden,
            self.head_weight,
            targets,
            temperature,
            bias=self.head_bias,
            logit_scale=self.logit_scale,
            logit_softcap=self.softcap,
        )

    def _checked_against(self, model: Any, sample: Sequence[int]) -> "CausalLM":
        """This object, without `cache_name` when its cache has layers whose rows can't be selected."""
        ids = torch.tensor([list(sample[:CHECK_TOKENS])], device=self.device)
        mask = torch.ones_like(ids)
        logits = model(input_ids=ids, attention_mask=mask).logits
        hidden, cache = self.run(ids, mask, keep_cache=self.cache_name is not None)
        extremes = torch.stack([logits.argmax(dim=-1), logits.argmin(dim=-1)], dim=-1)
        theirs = logits.float().log_softmax(dim=-1).gather(-1, extremes)
        ours = self.logprobs(torch.stack([hidden, hidden], dim=-2), extremes, 1.0)
        gap = float((theirs - ours).abs().max())
        half = torch.is_autocast_enabled(self.device.type) or torch.finfo(self.head_weight.dtype).bits < 32
        if not gap <= (CHECK_TOLERANCE_HALF if half else CHECK_TOLERANCE):
            raise ScapoError(
                f"The log-probs of {type(model).__name__} differ by {gap:.3g} from those computed from its "
                "backbone and head, so its logits pass through a step that scoring doesn't know (prompt "
                "tuning, a scale, a cap). It can't be probed; use another model, or merge its adapters."
            )
        return self if can_select_rows(cache) else replace(self, cache_name=None)


def can_select_rows(cache: Any) -> bool:
    """Whether every layer of a key-value cache can pick and repeat rows (recurrent states can't)."""
    layers = getattr(cache, "layers", None) or ()
    return len(layers) > 0 and all(hasattr(layer, "batch_select_indices") for layer in layers)


def select_rows(cache: Any, rows: Tensor) -> Any:
    """A new cache with the given rows (repeats allowed); the original stays as it is."""
    chosen = copy.copy(cache)
    chosen.layers = [copy.copy(layer) for layer in cache.layers]
    for layer in chosen.layers:
        layer.batch_select_indices(rows)
    return chosen


def _plain_head(model: Any) -> nn.Linear:
    kind = type(model).__name__
    if not all(hasattr(model, name) for name in ("get_decoder", "get_output_embeddings", "config")):
        raise ScapoError(f"{kind} is not a transformers language model, so it can't be probed.")
    if getattr(model.config, "is_encoder_decoder", False):
        raise ScapoError(f"{kind} is an encoder-decoder model; probing needs a decoder-only one.")
    head = model.get_output_embeddings()
    if not isinstance(head, nn.Linear) or not head.weight.is_floating_point():
        raise ScapoError(
            f"The head of {kind} is a {type(head).__name__}, but probing needs a plain linear layer. "
            "Keep adapters and quantisation away from `lm_head`, or merge them."
        )
    return head


def _number(config: Any, name: str, default: float) -> float:
    value = getattr(config, name, None)
    return float(value) if isinstance(value, int | float) else default
