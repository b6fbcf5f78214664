"""What a recipe's `method` section may say, the same on every engine."""

from collections.abc import Sequence
from typing import Any

from scapo.errors import ScapoError
from scapo.perturb.kinds import SEMIFACTUAL, Kind

CHOICES = {
    "credit": ("semifactual", "outcome", "cf_grpo", "fipo", "entropy_top"),
    "objective": ("clipped", "gspo", "sapo"),
    "sign": ("negative", "all", "positive"),
    "source": ("aligned", "shuffled", "counterfactual"),
    "dead_groups": ("keep", "skip", "drop"),
}
CREDIT_CONSTANTS = {
    "cf_grpo": ("bounds", "conserve"),
    "fipo": ("half_life", "clip", "safety", "dual_clip", "drop_runaway"),
    "entropy_top": ("share",),
}
LABELS = {
    "grpo": "GRPO",
    "gspo": "GSPO",
    "sapo": "SAPO",
    "cf_grpo": "CF-GRPO",
    "fipo": "FIPO",
    "scapo": "SCAPO",
    "dapo": "DAPO",
    "dr_grpo": "Dr.GRPO",
    "entropy_top": "80/20",
}


def probed_kinds(source: str, kinds: Sequence[str] | None) -> tuple[str, ...]:
    """The perturbation kinds whose drift makes the correction."""
    if source == "counterfactual":
        return (Kind.COUNTERFACTUAL.value,)
    return tuple(kinds) if kinds else tuple(kind.value for kind in SEMIFACTUAL)


def method_label(name: str) -> str:
    """The method's name in tables: "CF-GRPO", "SCAPO shuffled"."""
    base, _, rest = name.partition("_")
    if name in LABELS:
        return LABELS[name]
    return f"{LABELS.get(base, base.upper())} {LABELS.get(rest, rest)}".strip()


def plain_constants(values: Any) -> dict[str, Any]:
    """Constants as written in a recipe: YAML reads 3e-4 as a text, and a pair as a list."""
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ScapoError(f"Constants are `name: value` pairs, but {values!r} was given.")
    return {name: _plain(name, value) for name, value in values.items()}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_plain(name, one) for one in value)
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        raise ScapoError(f"The constant {name} is {value!r}; it must be a number.") from None
