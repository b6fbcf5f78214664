"""How many real problems get each kind of rewrite, and that the checks find nothing wrong with them."""

import json
import re
from pathlib import Path

import pytest

from scapo.perturb.checks import check
from scapo.perturb.kinds import SEMIFACTUAL, Kind
from scapo.perturb.rules import perturb_by_rule

DATA = Path(__file__).parents[2].parent / "shared" / "data"
FILES = ("dapo_math_sample", "gsm8k_train_sample", "math500")
BARS = {Kind.TYPO_NOISE: 0.99, Kind.SCENARIO_WRAP: 0.99, Kind.IRRELEVANT_CONTEXT: 0.99, Kind.PARAPHRASE: 0.8}
CHINESE = re.compile("[\u4e00-\u9fff]")

pytestmark = pytest.mark.skipif(
    not DATA.exists(), reason="the shared data folder is not beside this checkout"
)


def rows(step=1):
    paths = [DATA / f"{name}.jsonl" for name in FILES]
    return [
        json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()[::step]
    ]


def made(kind, row, seed=0):
    text = perturb_by_rule(kind, row["problem"], row["answer"], seed)
    assert text is None or check(kind, row["problem"], text, row["answer"]) is None
    return text


@pytest.mark.parametrize("kind", SEMIFACTUAL)
def test_a_sample_of_english_problems_reaches_the_bar(kind):
    english = [row for row in rows(step=5) if not CHINESE.search(row["problem"])]
    share = sum(made(kind, row) is not None for row in english) / len(english)
    assert share >= BARS[kind] - 0.01, share


@pytest.mark.slow
@pytest.mark.parametrize("kind", SEMIFACTUAL)
def test_all_english_problems_reach_the_bar_with_any_seed(kind):
    english = [row for row in rows() if not CHINESE.search(row["problem"])]
    for seed in (0, 7):
        share = sum(made(kind, row, seed) is not None for row in english) / len(english)
        assert share >= BARS[kind], (seed, share)


def test_chinese_problems_only_get_a_distractor():
    chinese = [row for row in rows() if CHINESE.search(row["problem"])]
    assert len(chinese) == 24
    for row in chinese:
        texts = {kind: made(kind, row) for kind in SEMIFACTUAL}
        assert [kind for kind, text in texts.items() if text] == [Kind.IRRELEVANT_CONTEXT]
