"""The kinds of rewrite (paper section 2, appendix B.1; method table in docs/perturbations.md)."""

from enum import StrEnum


class Kind(StrEnum):
    """One way of rewriting a prompt. The first four keep the answer; `counterfactual` changes it on purpose."""

    PARAPHRASE = "paraphrase"
    TYPO_NOISE = "typo_noise"
    SCENARIO_WRAP = "scenario_wrap"
    IRRELEVANT_CONTEXT = "irrelevant_context"
    COUNTERFACTUAL = "counterfactual"


SEMIFACTUAL = (Kind.PARAPHRASE, Kind.TYPO_NOISE, Kind.SCENARIO_WRAP, Kind.IRRELEVANT_CONTEXT)
