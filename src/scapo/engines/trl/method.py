"""A named method as settings: what `method: {name: gspo}` stands for."""

from typing import Any

from scapo.algorithm import method
from scapo.engines.methods import method_choices, method_label

LOSS_TYPES = {"token_mean": "dapo", "sequence_mean": "grpo", "constant": "dr_grpo"}
"""Our reductions by TRL's names."""
IN_TRAINER = ("scale_rewards", "loss_type")
"""The settings of a method that stand in a recipe's `trainer` section."""


def method_settings(name: str) -> dict[str, Any]:
    """The ScapoConfig fields that make the named method.

    Raises:
        ScapoError: listing the known names.
    """
    chosen = method(name)
    return {
        **method_choices(name),
        "scale_rewards": "none" if chosen.std == "none" else "group",
        "loss_type": LOSS_TYPES[chosen.reduction],
    }


def use_method(content: dict[str, Any], name: Any) -> None:
    """Write the named method's settings over those in a recipe's content; constants and lambda stay."""
    settings = method_settings(str(name))
    for section in ("method", "trainer"):
        inner = content.get(section)
        content[section] = dict(inner) if isinstance(inner, dict) else {}
    for key, value in settings.items():
        content["trainer" if key in IN_TRAINER else "method"][key] = value
    content["label"] = method_label(str(name))
