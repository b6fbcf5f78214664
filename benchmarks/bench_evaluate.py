"""Cost of `scapo evaluate` beyond the model's own work: 4 sets x 100 problems x 4 samples of the embedded world.

Run: python benchmarks/bench_evaluate.py [problems per set]
"""

import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path

BAR_SECONDS = 40.0


def main(problems: int = 100) -> None:
    from scapo.evaluate import provider
    from scapo.evaluate.choose import choose_model
    from scapo.evaluate.run import evaluate
    from scapo.evaluate.setting import Overrides, plan_sets

    generating = [0.0]
    sample_batch = provider.LocalModel.reply

    def timed(self, requests):
        began = time.thread_time()
        replies = sample_batch(self, requests)
        generating[0] += time.thread_time() - began
        return replies

    provider.LocalModel.reply = timed
    base = str(files("scapo.problems.world") / "base")
    model = choose_model(
        base, label="base", base_url=None, max_connections=None, batch_size=128, local={}, args={}
    )
    plans = plan_sets(["world"], [], Overrides(limit=problems))
    imported = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        evaluate(model, plans, Path(folder))
    total = time.process_time()
    responses = sum(len(plan.keys) for plan in plans)
    rest = total - imported - generating[0]
    print(f"{responses:,} responses: {total:.1f} s of one core (bar {BAR_SECONDS:.0f} s for 1,600)")
    print(
        f"start {imported:.1f} s, generation {generating[0]:.1f} s, Inspect, grading and files {rest:.1f} s"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
