"""The reward: the last box after the last `</think>`, 0 or 1, every score with a reason."""

from scapo.reward.outcome import Reason, Score
from scapo.reward.score import boxed_reward, score, score_batch

__all__ = ["Reason", "Score", "boxed_reward", "score", "score_batch"]
