"""Diagnosis: where token probabilities drift under rewrites that keep the answer (figure 2, table 4)."""

from scapo.diagnose.classes import TokenClass, token_class
from scapo.diagnose.statistics import bootstrap_ratio, response_sums, summarise

__all__ = ["TokenClass", "bootstrap_ratio", "response_sums", "summarise", "token_class"]
