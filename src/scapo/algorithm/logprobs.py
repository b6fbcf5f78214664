"""Log-probabilities of given tokens from hidden states, without ever making a (tokens, vocabulary) tensor.

For 16,384 tokens and 151,936 words one float32 logit tensor is 9.3 GiB; here it exists a chunk at a time,
in the forward and in the backward pass.

Shape suffixes: _C tokens of one chunk, _M all tokens flattened, _H hidden size, _V vocabulary.
"""

from typing import Literal, overload

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from scapo.algorithm.checks import ShapeError
from scapo.errors import ScapoError

_Pair = tuple[Tensor, Tensor]

CHUNK_ELEMENTS = 2**25
"""Logits per chunk when `chunk_tokens` is None: 128 MiB in float32, enough work for one matrix product."""
MIN_CHUNK = 64


@overload
def selected_logprobs(
    hidden: Tensor,
    lm_head_weight: Tensor,
    targets: Tensor,
    temperature: float = ...,
    chunk_tokens: int | None = ...,
    *,
    bias: Tensor | None = ...,
    with_entropy: Literal[False] = ...,
    logit_scale: float = ...,
    logit_softcap: float | None = ...,
) -> Tensor: ...


@overload
def selected_logprobs(
    hidden: Tensor,
    lm_head_weight: Tensor,
    targets: Tensor,
    temperature: float = ...,
    chunk_tokens: int | None = ...,
    *,
    bias: Tensor | None = ...,
    with_entropy: Literal[True],
    logit_scale: float = ...,
    logit_softcap: float | None = ...,
) -> tuple[Tensor, Tensor]: ...


def selected_logprobs(
    hidden: Tensor,
    lm_head_weight: Tensor,
    targets: Tensor,
    temperature: float = 1.0,
    chunk_tokens: int | None = None,
    *,
    bias: Tensor | None = None,
    with_entropy: bool = False,
    logit_scale: float = 1.0,
    logit_softcap: float | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """log softmax(logits / temperature)[target] for every position, in float32 whatever the input's dtype.

        logits = logit_scale * (hidden @ weight.T + bias);   then softcap * tanh(logits / softcap), if given

    Head and log-softmax run in float32 (bf16 logits near 20 are 0.06 apart: as much as a typical drift), also
    under autocast. Peak extra memory is a few times chunk_tokens * V floats plus, for half-precision weights,
    one float32 copy of the weight; it does not grow with the number of tokens. With gradient, each chunk's
    logits are recomputed in the backward pass. On a GPU, `torch.set_float32_matmul_precision("high")` speeds
    the head up and is exact for bf16 weights and hidden states, whose 8 bits fit TF32's 11.

    Args:
        hidden: last hidden states, (..., H). lm_head_weight: (V, H). targets: token ids, (...).
        temperature: the sampling temperature, > 0.
        chunk_tokens: tokens per chunk; None chooses about 2^25 logits.
        bias: the head's bias, (V,). with_entropy: also return the entropy of each position's distribution.
        logit_scale, logit_softcap: as some models apply them to their logits (Cohere, Granite, Gemma).

    Returns:
        Log-probs (nats), shaped like `targets`; with `with_entropy` a pair (log-probs, entropies in nats).

    Raises:
        ShapeError: when the shapes do not fit. ScapoError: on a temperature or chunk size that is not
            positive, or a target outside the vocabulary.
    """
    _check(hidden, lm_head_weight, targets, temperature, chunk_tokens)
    V, H = lm_head_weight.shape
    dtype = torch.promote_types(torch.promote_types(hidden.dtype, lm_head_weight.dtype), torch.float32)
    weight_VH = lm_head_weight.to(dtype)
    bias_V = torch.zeros((), dtype=dtype, device=hidden.device) if bias is None else bias.to(dtype)

    def score(hidden_CH: Tensor, targets_C: Tensor, weight_VH: Tensor, bias_V: Tensor) -> _Pair:
        with torch.autocast(hidden_CH.device.type, enabled=False):
            logits_CV = logit_scale * (hidden_CH.to(dtype) @ weight_VH.T + bias_V)
            if logit_softcap is not None:
                logits_CV = logit_softcap * torch.tanh(logits_CV / logit_softcap)
            return _score_logits(logits_CV / temperature, targets_C, with_entropy)

    track = torch.is_grad_enabled() and any(x.requires_grad for x in (hidden, weight_VH, bias_V))

    def chunks(tensor: Tensor) -> tuple[Tensor, ...]:
        return torch.split(tensor, chunk_tokens or max(MIN_CHUNK, CHUNK_ELEMENTS // V))

    parts = [
        checkpoint(score, h, t, weight_VH, bias_V, use_reentrant=False, preserve_rng_state=False)
        if track
        else score(h, t, weight_VH, bias_V)
        for h, t in zip(chunks(hidden.reshape(-1, H)), chunks(targets.reshape(-1)), strict=True)
    ]
    logp, entropy = (torch.cat(column).reshape(targets.shape) for column in zip(*parts, strict=True))
    return (logp, entropy) if with_entropy else logp


def _score_logits(logits_CV: Tensor, targets_C: Tensor, with_entropy: bool) -> tuple[Tensor, Tensor]:
    """Log-prob of each target, and the entropy (the log-probs again when it isn't asked for)."""
    log_softmax_CV = logits_CV.log_softmax(dim=-1)
    logp_C = log_softmax_CV.gather(-1, targets_C[:, None]).squeeze(-1)
    if not with_entropy:
        return logp_C, logp_C.detach()
    return logp_C, -(log_softmax_CV.exp() * log_softmax_CV).sum(dim=-1)


def _check(
    hidden: Tensor, weight: Tensor, targets: Tensor, temperature: float, chunk_tokens: int | None
) -> None:
    if weight.dim() != 2 or hidden.shape[-1:] != weight.shape[1:] or hidden.shape[:-1] != targets.shape:
        raise ShapeError(
            f"hidden {tuple(hidden.shape)}, head weight {tuple(weight.shape)} and targets "
            f"{tuple(targets.shape)} do not fit: (..., H), (V, H) and (...) are needed."
        )
    if not temperature > 0:
        raise ScapoError(f"The temperature is {temperature}; log-probs need one above 0.")
    if chunk_tokens is not None and chunk_tokens < 1:
        raise ScapoError(f"chunk_tokens is {chunk_tokens}; it must be 1 or more.")
    lowest, highest = (int(x) for x in targets.aminmax()) if targets.numel() else (0, 0)
    if not 0 <= lowest <= highest < weight.shape[0]:
        raise ScapoError(
            f"Target ids run from {lowest} to {highest}, but the head knows 0 to {weight.shape[0] - 1}. "
            "Replace labels such as -100 by any valid id and mask them afterwards."
        )
