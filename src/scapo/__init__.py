"""Semifactual Credit-Augmented Policy Optimization (arXiv:2609.40360)."""

__version__ = "0.1.0"
