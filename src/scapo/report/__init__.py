"""The report: one self-contained HTML page (and a terminal table) from any mix of run directories."""

from scapo.report.page import build_report
from scapo.report.runs import load_runs

__all__ = ["build_report", "load_runs"]
