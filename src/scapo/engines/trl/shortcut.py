"""What the credit sees: does it find the tokens that carry the embedded world's planted shortcut?

The world knows which operators followed the scene against the verb. A credit that finds them gives them less
than other tokens.

Shape suffixes: _N responses of this process, _T response tokens, _S shortcut tokens, _M other valid tokens.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from scapo.engines.offsets import text_and_offsets
from scapo.engines.trl.credit import Rollout
from scapo.engines.trl.objective import per_token
from scapo.problems.world.spans import shortcut_spans

WORLD = "world"
"""The dataset column with what the world knows about a problem."""


def shortcut_summary(trainer: Any, rollout: Rollout, advantage: Tensor) -> dict[str, float]:
    """Metrics of one rollout over all processes; empty without a shortcut token (or without any other).

    credit/shortcut_auc: chance that a shortcut token gets less than another token of the batch (ROC AUC, ties
    count half); the response's own advantage is part of it. credit/shortcut_auc_within: against the tokens of
    the same response only, so 0.5 for a credit that treats a response's tokens alike.
    """
    marked_NT = marked_tokens(trainer._tokenizer, rollout)
    credit_NT = per_token(advantage).expand(marked_NT.shape).double()
    on_S, off_M = (
        trainer._gather_flat(credit_NT[rollout.mask_NT & where]) for where in (marked_NT, ~marked_NT)
    )
    within_S = trainer._gather_flat(within_responses(credit_NT, marked_NT, rollout.mask_NT))
    found = {"credit/shortcut_share": len(on_S) / max(1, len(on_S) + len(off_M))}
    if len(on_S) and len(off_M):
        found["credit/shortcut_auc"] = float(share_below(on_S, off_M).mean())
        found["credit/on_shortcut"], found["credit/off_shortcut"] = float(on_S.mean()), float(off_M.mean())
    if len(within_S):
        found["credit/shortcut_auc_within"] = float(within_S.mean())
    return found


def marked_tokens(tokenizer: Any, rollout: Rollout) -> Tensor:
    """True at the tokens of operators that followed the scene against the verb, (N, T)."""
    marked_NT = torch.zeros_like(rollout.mask_NT)
    for n, (row, ids) in enumerate(zip(rollout.rows, rollout.completion_ids, strict=True)):
        for t in followed_tokens(row, *text_and_offsets(tokenizer, ids)):
            marked_NT[n, t] = True
    return marked_NT & rollout.mask_NT


def followed_tokens(row: Mapping[str, Any], text: str, offsets: Sequence[tuple[int, int]]) -> list[int]:
    """Positions of the tokens that overlap an operator which followed the scene."""
    spans = [span for span in shortcut_spans(row, text) if span.followed_scene]
    return [
        t
        for t, (start, stop) in enumerate(offsets)
        if any(start < span.stop and span.start < stop for span in spans)
    ]


def share_below(on_S: Tensor, off_M: Tensor) -> Tensor:
    """For each shortcut token the share of other tokens that get more than it; ties count half."""
    sorted_M = off_M.sort().values
    less_S, up_to_S = (torch.searchsorted(sorted_M, on_S, right=right) for right in (False, True))
    return (len(off_M) - up_to_S + 0.5 * (up_to_S - less_S)) / len(off_M)


def within_responses(credit_NT: Tensor, marked_NT: Tensor, mask_NT: Tensor) -> Tensor:
    """`share_below` of every shortcut token among the other tokens of its own response, flat."""
    shares = [
        share_below(credit_T[marked_T], credit_T[mask_T & ~marked_T])
        for credit_T, marked_T, mask_T in zip(credit_NT, marked_NT, mask_NT, strict=True)
        if bool(marked_T.any()) and bool((mask_T & ~marked_T).any())
    ]
    return torch.cat(shares) if shares else credit_NT.new_zeros(0)
