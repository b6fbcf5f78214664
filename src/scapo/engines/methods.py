"""What a recipe's `method` section may say, the same on every engine."""

from collections.abc import Sequence
from typing import Any

from scapo.algorithm import LambdaSchedule, method
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


class MethodProperties:
    """What follows from an engine's method settings."""

    credit: str
    lambda_0: float
    n_0: int
    source: str
    kinds: Any

    @property
    def schedule(self) -> LambdaSchedule:
        """lambda per optimiser step; zero throughout for every credit but the semifactual one."""
        return LambdaSchedule(self.lambda_0 if self.credit == "semifactual" else 0.0, self.n_0)

    @property
    def probes(self) -> bool:
        """Whether any step of the run needs the probe."""
        return self.schedule.at(1) > 0

    @property
    def scores_again(self) -> bool:
        """Whether responses pass through the model a second time: the probe, or CF-GRPO's masked spans."""
        return self.probes or self.credit == "cf_grpo"

    @property
    def probed_kinds(self) -> tuple[str, ...]:
        """The perturbation kinds whose drift makes the correction."""
        if self.source == "counterfactual":
            return (Kind.COUNTERFACTUAL.value,)
        return tuple(self.kinds) if self.kinds else tuple(kind.value for kind in SEMIFACTUAL)


def method_choices(name: str) -> dict[str, Any]:
    """The settings of a named method that all engines spell alike. Raises ScapoError listing the known names."""
    chosen = method(name)
    return {
        "credit": chosen.credit,
        "objective": chosen.objective,
        "sign": chosen.sign,
        "source": "counterfactual" if chosen.counterfactual else chosen.source,
        "dead_groups": "keep" if chosen.keep_constant_groups else "drop",
    }


def check_kinds(kinds: Sequence[str] | None, where: str = "kinds") -> None:
    """Raises ScapoError for a kind of rewrite that is none."""
    known = [kind.value for kind in Kind]
    for kind in kinds or ():
        if kind not in known:
            raise ScapoError(f"{where} holds {kind!r}; a kind is one of {', '.join(known)}.")


def check_credit_constants(credit: str, constants: dict[str, Any]) -> None:
    """Raises ScapoError for a constant that the credit does not have."""
    known = CREDIT_CONSTANTS.get(credit, ())
    for name in constants:
        if name not in known:
            raise ScapoError(
                f"The credit {credit!r} has no constant {name!r}; it has {', '.join(known) or 'none'}."
            )


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
