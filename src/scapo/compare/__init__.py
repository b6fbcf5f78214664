"""Methods x seeds: train and evaluate every cell, then tables over seeds with paired differences."""

from scapo.compare.grid import Cell, Plan, make_cells, run_grid
from scapo.compare.table import compare_runs, paired_over_seeds, steps_to_reach

__all__ = [
    "Cell",
    "Plan",
    "compare_runs",
    "make_cells",
    "paired_over_seeds",
    "run_grid",
    "steps_to_reach",
]
