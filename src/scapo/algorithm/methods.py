"""Named methods: a credit and an objective, with the switches that set each row of the paper's tables apart.

A new method takes a module for its credit or objective, and one line here.
"""

from dataclasses import dataclass
from typing import Literal

from scapo.algorithm.advantage import Std
from scapo.algorithm.objective import Reduction
from scapo.algorithm.stability import Sign, Source
from scapo.errors import ScapoError

Credit = Literal["outcome", "semifactual", "cf_grpo", "fipo", "entropy_top"]


@dataclass(frozen=True, kw_only=True)
class Method:
    """How a method assigns credit to tokens, and what it optimises.

    credit: "outcome" spreads A evenly, "semifactual" adds the correction, "cf_grpo" and "fipo" multiply A by
    a weight, "entropy_top" keeps the uncertain tokens. sign, source, counterfactual: ablations of
    "semifactual"; counterfactual probes with answer-changing prompts. keep_constant_groups: False is DAPO's
    filter.
    """

    credit: Credit = "outcome"
    objective: str = "clipped"
    reduction: Reduction = "token_mean"
    std: Std = "unbiased"
    sign: Sign = "negative"
    source: Source = "aligned"
    counterfactual: bool = False
    keep_constant_groups: bool = True


METHODS: dict[str, Method] = {
    "grpo": Method(),
    "gspo": Method(objective="gspo"),
    "sapo": Method(objective="sapo"),
    "cf_grpo": Method(credit="cf_grpo"),
    "fipo": Method(credit="fipo"),
    "scapo": Method(credit="semifactual"),
    "scapo_shuffled": Method(credit="semifactual", source="shuffled"),
    "scapo_counterfactual": Method(credit="semifactual", counterfactual=True),
    "scapo_all": Method(credit="semifactual", sign="all"),
    "scapo_positive": Method(credit="semifactual", sign="positive"),
    "scapo_gspo": Method(credit="semifactual", objective="gspo"),
    "scapo_sapo": Method(credit="semifactual", objective="sapo"),
    "dapo": Method(keep_constant_groups=False),
    "dr_grpo": Method(std="none", reduction="constant"),
    "entropy_top": Method(credit="entropy_top"),
}


def method(name: str) -> Method:
    """The named method. Raises ScapoError listing the known ones."""
    if name not in METHODS:
        raise ScapoError(f"There is no method {name!r}; known are {', '.join(METHODS)}.")
    return METHODS[name]
