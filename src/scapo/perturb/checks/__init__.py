"""What every rewrite must pass, whoever made it: `check(kind, original, text, answer)`.

A refusal is a value with a code and a sentence, never an exception; None means accepted.
"""

from collections.abc import Callable

from scapo.perturb.checks.counterfactual import check_counterfactual
from scapo.perturb.checks.irrelevant import check_irrelevant
from scapo.perturb.checks.paraphrase import check_paraphrase
from scapo.perturb.checks.refusal import Refusal
from scapo.perturb.checks.shared import answer_leak, bad_text
from scapo.perturb.checks.typo import check_typo
from scapo.perturb.checks.wrap import check_wrap
from scapo.perturb.kinds import Kind

__all__ = ["Refusal", "check"]

_CHECKS: dict[Kind, Callable[[str, str], Refusal | None]] = {
    Kind.PARAPHRASE: check_paraphrase,
    Kind.TYPO_NOISE: check_typo,
    Kind.SCENARIO_WRAP: check_wrap,
    Kind.IRRELEVANT_CONTEXT: check_irrelevant,
    Kind.COUNTERFACTUAL: check_counterfactual,
}


def check(kind: Kind, original: str, text: str, answer: str | None = None) -> Refusal | None:
    """Why `text` is no valid rewrite of `original`; None when it is one.

    `answer` is the original's answer; with it, a rewrite in which the answer newly appears is refused
    (not for a typo, which adds no word, nor for a counterfactual rewrite, whose answer is another one).
    """
    refusal = bad_text(original, text) or _CHECKS[kind](original, text)
    if refusal is None and answer is not None and kind not in (Kind.TYPO_NOISE, Kind.COUNTERFACTUAL):
        refusal = answer_leak(original, text, answer)
    return refusal
