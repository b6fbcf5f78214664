"""Floating point operations of a pass, a multiplication and an addition counted as two.

Counted are the matrix products and attention; norms, activations and the soft-max are left out (below 1 %).
"""

from scapo.plan.lengths import Lengths
from scapo.plan.model_shape import ModelShape

ATTENTION_BACKWARD = 2.5
"""Backward over forward in fused attention: five products for two, since the scores are computed again."""


def token_flops(shape: ModelShape, tokens: float) -> float:
    """All layers' matrix products for so many tokens, without attention scores and head."""
    return 2.0 * tokens * shape.layers * shape.layer_matmul_params


def head_flops(shape: ModelShape, tokens: float) -> float:
    return 2.0 * tokens * shape.head_params


def pair_flops(shape: ModelShape, pairs: float) -> float:
    """Attention for so many (query, key) pairs: scores and weighted values."""
    return 4.0 * shape.layers * shape.heads * shape.head_dim * pairs


def causal_pairs(length: float) -> float:
    """Pairs in one sequence where each token sees itself and what came before."""
    return length * (length + 1) / 2


def sequence_pairs(prompt: float, responses: Lengths, prompt_passes: float) -> float:
    """Pairs when each response follows a prompt of `prompt` tokens and prompts are run `prompt_passes` times."""
    after = float(((responses + prompt) * (responses + prompt + 1) / 2).sum())
    return after - (len(responses) - prompt_passes) * causal_pairs(prompt)


def forward_flops(
    shape: ModelShape, prompt: float, responses: Lengths, *, group: int = 1, head: bool = True
) -> float:
    """One pass over all responses after their prompts; with `group` > 1 so many responses share a prompt's pass.

    The head is counted at response positions.
    """
    passes = len(responses) / group
    tokens = passes * prompt + float(responses.sum())
    pairs = sequence_pairs(prompt, responses, passes)
    head_cost = head_flops(shape, float(responses.sum())) if head else 0.0
    return token_flops(shape, tokens) + pair_flops(shape, pairs) + head_cost


def update_flops(
    shape: ModelShape, prompt: float, responses: Lengths, *, checkpointing: bool = True
) -> float:
    """Forward, backward (twice the forward; attention 2.5 times) and, with checkpointing, the layers once more."""
    tokens = len(responses) * prompt + float(responses.sum())
    pairs = sequence_pairs(prompt, responses, len(responses))
    again = 1 if checkpointing else 0
    return (
        (3 + again) * token_flops(shape, tokens)
        + (1 + ATTENTION_BACKWARD + again) * pair_flops(shape, pairs)
        + 3 * head_flops(shape, float(responses.sum()))
    )
