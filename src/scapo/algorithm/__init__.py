"""The paper in pure torch: drift, stability, advantages, schedule, probe, losses (arXiv:2609.40360)."""

from scapo.algorithm.advantage import augmented_advantage, outcome_advantage
from scapo.algorithm.causal_lm import CausalLM, scoring_mode, select_rows
from scapo.algorithm.cf_grpo import span_drops, span_importance_weight
from scapo.algorithm.checks import NonFiniteError, ShapeError
from scapo.algorithm.clipped import Clipped
from scapo.algorithm.drift import probability_drift
from scapo.algorithm.entropy_top import top_entropy_weight
from scapo.algorithm.fipo import future_kl_weight, runaway_rows
from scapo.algorithm.group_filter import mixed_groups
from scapo.algorithm.gspo import Gspo
from scapo.algorithm.logprobs import selected_logprobs
from scapo.algorithm.methods import METHODS, Method, method
from scapo.algorithm.objective import OBJECTIVES, LossStats, PolicyLoss, policy_loss
from scapo.algorithm.probe import ProbeResult, response_logprobs
from scapo.algorithm.probe_plan import ProbeRow
from scapo.algorithm.sapo import Sapo
from scapo.algorithm.schedule import LambdaSchedule
from scapo.algorithm.spans import ResponseSpans, find_spans
from scapo.algorithm.stability import group_stability, semifactual_correction

__all__ = [
    "METHODS",
    "OBJECTIVES",
    "CausalLM",
    "Clipped",
    "Gspo",
    "LambdaSchedule",
    "LossStats",
    "Method",
    "NonFiniteError",
    "PolicyLoss",
    "ProbeResult",
    "ProbeRow",
    "ResponseSpans",
    "Sapo",
    "ShapeError",
    "augmented_advantage",
    "find_spans",
    "future_kl_weight",
    "group_stability",
    "method",
    "mixed_groups",
    "outcome_advantage",
    "policy_loss",
    "probability_drift",
    "response_logprobs",
    "runaway_rows",
    "scoring_mode",
    "select_rows",
    "selected_logprobs",
    "semifactual_correction",
    "span_drops",
    "span_importance_weight",
    "top_entropy_weight",
]
