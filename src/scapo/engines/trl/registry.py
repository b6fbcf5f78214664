"""Every credit by its name in `ScapoConfig.credit`."""

from typing import Any

from scapo.engines.trl.credit import OutcomeCredit, SemifactualCredit
from scapo.engines.trl.weights import CfGrpoCredit, EntropyTopCredit, FipoCredit

CREDITS: dict[str, type[Any]] = {
    "outcome": OutcomeCredit,
    "semifactual": SemifactualCredit,
    "cf_grpo": CfGrpoCredit,
    "fipo": FipoCredit,
    "entropy_top": EntropyTopCredit,
}
