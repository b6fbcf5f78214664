"""Evaluation: the paper's suites on Inspect, our reward as the scorer, statistics with clustered errors."""

from scapo.evaluate.statistics import TooFewSamples, paired_difference, pass_at_k, pass_curve

__all__ = ["TooFewSamples", "paired_difference", "pass_at_k", "pass_curve"]
