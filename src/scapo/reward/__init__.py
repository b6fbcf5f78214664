"""The reward: the last box after the last `</think>`, 0 or 1, every score with a reason."""

from scapo.reward.goldcheck import check_prompt, gold_problems
from scapo.reward.outcome import Reason, Score
from scapo.reward.score import boxed_reward, completion_text, score, score_batch

__all__ = [
    "Reason",
    "Score",
    "boxed_reward",
    "check_prompt",
    "completion_text",
    "gold_problems",
    "score",
    "score_batch",
]
