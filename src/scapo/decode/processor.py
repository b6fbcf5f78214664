"""d-filtered decoding inside transformers' own `generate`.

Shape suffixes: _S rows given to `generate` (all contexts of all problems), _R problems, _C contexts, _V vocabulary.
"""

from collections.abc import Collection

import torch
from torch import Tensor
from transformers import LogitsProcessor

from scapo.decode.drift_filter import drift_filter, filtered_policy, vocabulary_drift
from scapo.errors import ScapoError


class DriftFilterLogitsProcessor(LogitsProcessor):
    """Samples one token per problem from the drift-filtered policy and makes all its contexts take it.

    Give `generate` the left-padded prompts in blocks of `contexts` rows, each block the original prompt and
    its K rewrites, this processor, and `do_sample=False` (the draw happens here). All rows of a block then
    hold the same response.

        processor = DriftFilterLogitsProcessor(contexts=5, eos_ids=[tokenizer.eos_token_id])
        out = model.generate(**prompts, logits_processor=[processor], do_sample=False, max_new_tokens=512)
        responses = out[::5, prompts["input_ids"].shape[1]:]
    """

    def __init__(
        self,
        contexts: int,
        eos_ids: Collection[int],
        mass: float = 0.8,
        temperature: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> None:
        if contexts < 2:
            raise ScapoError(
                f"contexts is {contexts}; it counts the original prompt and at least one rewrite."
            )
        self.contexts, self.eos_ids, self.mass = contexts, eos_ids, mass
        self.temperature, self.generator = temperature, generator

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores (S, V) in; out -inf everywhere but at each problem's drawn token."""
        S, V = scores.shape
        if S % self.contexts:
            raise ScapoError(f"{S} rows are no whole number of blocks of {self.contexts} contexts.")
        logp_CRV = (
            (scores.float() / self.temperature).log_softmax(-1).reshape(-1, self.contexts, V).transpose(0, 1)
        )
        probs_RV = logp_CRV[0].exp()
        masked_RV = drift_filter(
            probs_RV, vocabulary_drift(logp_CRV[0], logp_CRV[1:]), self.eos_ids, self.mass
        )
        drawn_R1 = torch.multinomial(filtered_policy(probs_RV, masked_RV), 1, generator=self.generator)
        drawn_S1 = drawn_R1.repeat_interleave(self.contexts, dim=0)
        return torch.full_like(scores, -torch.inf).scatter(-1, drawn_S1, 0.0)
