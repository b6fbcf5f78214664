"""The `method` section of a recipe, checked and filled in; it travels to the trainer inside verl's configuration."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, get_args

from scapo.algorithm import method
from scapo.algorithm.advantage import Std
from scapo.algorithm.objective import Objective, Reduction, make_objective
from scapo.engines.methods import (
    CHOICES,
    MethodProperties,
    check_credit_constants,
    check_kinds,
    method_choices,
    plain_constants,
)
from scapo.errors import ScapoError

LOSS_AGG_MODES = {
    "token_mean": "token-mean",
    "sequence_mean": "seq-mean-token-mean",
    "constant": "seq-mean-token-sum-norm",
}
"""Our reductions by verl's names."""


@dataclass(frozen=True, kw_only=True)
class MethodSettings(MethodProperties):
    """How credit is assigned and what is optimised; the defaults are the paper's.

    std, reduction: as in `scapo.algorithm.Method`. noise_rows: responses scored again per rollout under their
    own prompt, which tells the noise floor of the drift.
    """

    credit: str = "semifactual"
    objective: str = "clipped"
    lambda_0: float = 0.01
    n_0: int = 120
    sign: str = "negative"
    source: str = "aligned"
    kinds: list[str] | None = None
    dead_groups: str = "keep"
    advantage_eps: float = 1e-6
    std: str = "unbiased"
    reduction: str = "token_mean"
    objective_constants: dict[str, Any] = field(default_factory=dict)
    credit_constants: dict[str, Any] = field(default_factory=dict)
    noise_rows: int = 8

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> "MethodSettings":
        """From a recipe's section; `name` gives the settings of a named method, the other keys change them.

        Raises:
            ScapoError: naming the setting and what it may be.
        """
        given = dict(section)
        name = given.pop("name", None)
        found = cls(**(_named(str(name)) if name is not None else {}) | _plain(given))
        found._check()
        return found

    def plain(self) -> dict[str, Any]:
        """Only plain values, for verl's configuration."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}

    @property
    def own_loss(self) -> bool:
        """Whether the loss is our `policy_loss`; else it is verl's (which averages SAPO over responses only)."""
        return self.objective == "sapo" or self.credit == "fipo"

    def make_objective(self) -> Objective:
        return make_objective(self.objective, **plain_constants(self.objective_constants))

    def _check(self) -> None:
        choices = CHOICES | {"std": get_args(Std), "reduction": get_args(Reduction)}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ScapoError(
                    f"method.{name} is {getattr(self, name)!r}; it must be one of {', '.join(map(repr, allowed))}."
                )
        check_kinds(self.kinds, "method.kinds")
        check_credit_constants(self.credit, self.credit_constants)
        _ = self.schedule, self.make_objective()


def _named(name: str) -> dict[str, Any]:
    chosen = method(name)
    return method_choices(name) | {"std": chosen.std, "reduction": chosen.reduction}


def _plain(given: Mapping[str, Any]) -> dict[str, Any]:
    """Values in the types of their fields: YAML reads 1e-6 as a text."""
    kinds = {item.name: item.type for item in fields(MethodSettings)}
    values = dict(given)
    for name in ("objective_constants", "credit_constants"):
        values[name] = plain_constants(values.get(name))
    for name, value in values.items():
        if kinds[name] in (float, int):
            values[name] = _number(name, value, kinds[name])
    return values


def _number(name: str, value: Any, kind: Any) -> Any:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ScapoError(f"method.{name} is {value!r}; it must be a number.") from None
    if isinstance(value, bool) or (kind is int and not number.is_integer()):
        raise ScapoError(f"method.{name} is {value!r}; it must be a {'whole ' if kind is int else ''}number.")
    return kind(number)
