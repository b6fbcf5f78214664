"""`counterfactual`: exactly one quantity of the problem is another one."""

from scapo.perturb.checks.refusal import Refusal
from scapo.perturb.tokens import tokens


def check_counterfactual(original: str, text: str) -> Refusal | None:
    """Refuses anything but the original with one number replaced by another."""
    old, new = tokens(original).texts, tokens(text).texts
    if len(old) != len(new):
        return Refusal("text_changed", "More than one number changed.")
    changed = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    if len(changed) != 1:
        return Refusal("not_one_change", f"{len(changed)} places changed instead of one.")
    return None
