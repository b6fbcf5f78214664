"""Rewrites made by rule: seeded, byte-reproducible, no model needed."""

import hashlib
import random
from collections.abc import Callable

from scapo.perturb.checks import check
from scapo.perturb.kinds import Kind
from scapo.perturb.rules.counterfactual import counterfactual
from scapo.perturb.rules.irrelevant import irrelevant_context
from scapo.perturb.rules.paraphrase import paraphrase
from scapo.perturb.rules.typo import typo_noise
from scapo.perturb.rules.wrap import scenario_wrap

RULES_VERSION = "1"
"""Stored with every text; changes whenever the same problem and seed may give another text."""

ATTEMPTS = 4

_RULES: dict[Kind, Callable[[str, random.Random], str | None]] = {
    Kind.PARAPHRASE: paraphrase,
    Kind.TYPO_NOISE: typo_noise,
    Kind.SCENARIO_WRAP: scenario_wrap,
    Kind.IRRELEVANT_CONTEXT: irrelevant_context,
    Kind.COUNTERFACTUAL: counterfactual,
}


def perturb_by_rule(kind: Kind, problem: str, answer: str, seed: int) -> str | None:
    """A rewrite of `problem` that passes the checks, or None when nothing safe applies.

    A pure function of kind, problem, answer and seed: the same bytes in every process and on every machine.
    """
    generator = _generator(kind, problem, seed)
    for _ in range(ATTEMPTS):
        text = _RULES[kind](problem, generator)
        if text is None:
            return None
        if check(kind, problem, text, answer) is None:
            return text
    return None


def _generator(kind: Kind, problem: str, seed: int) -> random.Random:
    """Seeded by SHA-256 of all inputs: Python's own hash() differs from process to process."""
    key = "\x1f".join((RULES_VERSION, kind.value, str(seed), problem))
    return random.Random(int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest(), "big"))
