"""Speed and reach of the rule rewrites and of the checks, on one core.

Run: python benchmarks/bench_perturb_rules.py [PROBLEMS.jsonl ...]
Without files it takes the DAPO, GSM8K and MATH-500 samples of a folder `shared/data` beside the checkout, or
else a few built-in problems. Seconds are CPU seconds of this process, so that a busy machine changes little.
Bars: 500 problems a second for all four semifactual kinds, checks included; 2,000 checked texts a second.
"""

import random
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from scapo.files import read_jsonl
from scapo.perturb.checks import check
from scapo.perturb.kinds import SEMIFACTUAL, Kind
from scapo.perturb.rules import perturb_by_rule

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = [DATA / f"{name}.jsonl" for name in ("dapo_math_sample", "gsm8k_train_sample", "math500")]
BUILT_IN = (
    ("Kim borrows $100 from Lucy at 5% per month. How many dollars does she owe after 3 months?", "115"),
    ("Find the smallest positive integer $n$ such that $n^2 > 50$.", "8"),
    ("Let $a$ and $b$ be real numbers. If $a+b=2$, what is the value of $a^2+2ab+b^2$?", "4"),
    ("A bus leaves town at noon and stops every 7 minutes. How many times does it stop in 30 minutes?", "4"),
)
MIN_PROBLEMS, MIN_CHECKS = 500, 2000

Made = tuple[Kind, str, str, str]


def problems(paths: list[Path]) -> list[tuple[str, str]]:
    found = [
        (row["problem"], str(row["answer"])) for path in paths if path.exists() for _, row in read_jsonl(path)
    ]
    return found or [(f"{text} ({number})", answer) for number in range(300) for text, answer in BUILT_IN]


def rewrite(kinds: Iterable[Kind], rows: list[tuple[str, str]]) -> list[Made]:
    """All kinds of one problem after another, as `scapo perturb` does."""
    texts = [
        (kind, text, perturb_by_rule(kind, text, answer, 0), answer)
        for text, answer in rows
        for kind in kinds
    ]
    return [(kind, text, new, answer) for kind, text, new, answer in texts if new is not None]


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> None:
    rows = problems([Path(name) for name in sys.argv[1:]] or FILES)
    rewrite(Kind, rows[:3])  # loads the word frequencies, compiles the patterns
    made: list[Made] = []
    taken = seconds(lambda: made.extend(rewrite(SEMIFACTUAL, rows)))
    made.extend(rewrite([Kind.COUNTERFACTUAL], rows))
    for kind in Kind:
        print(
            f"{kind.value:20} {sum(row[0] is kind for row in made) / len(rows):7.1%} of {len(rows)} problems"
        )
    random.Random(0).shuffle(made)
    checks = len(made) / seconds(lambda: [check(*row) for row in made])
    report("problems/s for all four kinds", len(rows) / taken, MIN_PROBLEMS)
    report("checked texts/s", checks, MIN_CHECKS)


def report(name: str, value: float, bar: int) -> None:
    print(f"{name}: {value:.0f} (bar {bar}: {'met' if value >= bar else 'MISSED'})")


if __name__ == "__main__":
    main()
