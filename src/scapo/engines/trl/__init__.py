"""SCAPO on TRL: `ScapoConfig` and `ScapoTrainer` stand in for GRPOConfig and GRPOTrainer."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scapo.engines.trl.config import ScapoConfig
    from scapo.engines.trl.trainer import ScapoTrainer

__all__ = ["ScapoConfig", "ScapoTrainer"]


def __getattr__(name: str) -> Any:
    """Import TRL only when one of the two classes is asked for: the command line must start fast."""
    if name == "ScapoConfig":
        from scapo.engines.trl.config import ScapoConfig

        return ScapoConfig
    if name == "ScapoTrainer":
        from scapo.engines.trl.trainer import ScapoTrainer

        return ScapoTrainer
    raise AttributeError(name)
