"""What each method costs beside GRPO, by stage; same model, prompts and seed, corrections always on.

Measured as in bench_trl.py: a process per measurement, taking turns, CPU seconds where there is no GPU.

    python benchmarks/bench_methods.py [--rounds 3] [--rollouts 5] [--methods grpo,gspo,...]
"""

import statistics
import tempfile
from pathlib import Path
from typing import Any

from bench_trl import STAGES, make_world, parse, take_turns

METHODS = "grpo,gspo,sapo,cf_grpo,fipo,entropy_top,scapo,scapo_shuffled,scapo_counterfactual,scapo_all,scapo_positive"


def main() -> None:
    """Take turns over the methods; print seconds per rollout cycle by stage, and the ratio to the first one."""
    arguments = parse(
        __doc__, methods={"default": METHODS, "help": "names with commas; the first is the base"}
    )
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in arguments.methods.split(",")}
    with tempfile.TemporaryDirectory() as folder:
        if not arguments.data:
            arguments.model, arguments.data = make_world(Path(folder))
        take_turns(found, arguments, folder)
    report(found, arguments.prompts)


def report(found: dict[str, list[dict[str, Any]]], prompts: int) -> None:
    """Means over rounds by stage; the ratio of the median cycles."""
    base = next(iter(found))
    print(
        f"\n{prompts} prompts x 8 responses, two updates; {len(found[base])} rounds; seconds per rollout cycle"
    )
    print(f"{'':21}" + "".join(f"{stage:>10}" for stage in STAGES) + f"{'peak GiB':>10}{'/ ' + base:>10}")
    cycles = {
        name: statistics.median(seconds for row in rows for seconds in row["cycles"])
        for name, rows in found.items()
    }
    for name, rows in found.items():
        numbers = "".join(f"{statistics.mean(row[stage] for row in rows):10.3f}" for stage in STAGES)
        print(
            f"{name:21}{numbers}{max(row['peak'] for row in rows):10.2f}{cycles[name] / cycles[base]:10.3f}"
        )


if __name__ == "__main__":
    main()
