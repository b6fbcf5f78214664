"""The paper in pure torch: drift, stability, advantages, schedule, log-probs, the probe (arXiv:2609.40360)."""

from scapo.algorithm.advantage import augmented_advantage, outcome_advantage
from scapo.algorithm.causal_lm import CausalLM, scoring_mode
from scapo.algorithm.checks import NonFiniteError, ShapeError
from scapo.algorithm.drift import probability_drift
from scapo.algorithm.logprobs import selected_logprobs
from scapo.algorithm.probe import ProbeResult, response_logprobs
from scapo.algorithm.probe_plan import ProbeRow
from scapo.algorithm.schedule import LambdaSchedule
from scapo.algorithm.stability import group_stability, semifactual_correction

__all__ = [
    "CausalLM",
    "LambdaSchedule",
    "NonFiniteError",
    "ProbeResult",
    "ProbeRow",
    "ShapeError",
    "augmented_advantage",
    "group_stability",
    "outcome_advantage",
    "probability_drift",
    "response_logprobs",
    "scoring_mode",
    "selected_logprobs",
    "semifactual_correction",
]
