"""Two hundred completions made to break the reward: each ends with a reason, none scores, none takes long."""

import random
import resource
import time

import pytest

from scapo.reward import Reason, score_batch
from scapo.reward.worker import CPU_SECONDS

GOLDS = (
    r"\frac{x}{2}",
    r"\sqrt{2}",
    "(0, 1)",
    "1, 2",
    "7",
    "D",
    r"\text{east}",
    "x^2+y^2=1",
    r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}",
)
MEGABYTE = 1_000_000


def nested(opening: str, middle: str, closing: str, depth: int) -> str:
    return opening * depth + middle + closing * depth


CONTENTS = [
    # numbers that can't be computed
    "9^{9^{9}}", "9^{9^{9^{9^{9}}}}", "2^{2^{2^{2^{2^{2}}}}}", "10^{10^{100}}", "(-7)^{99999999999}", "99999999999!", "((9!)!)!",
    r"\binom{9999999999}{4999999999}", "0^{-1}", "1/0", r"\frac{0}{0}", "0.1^{-99999999}", "9" * 1900, "0." + "9" * 1900,
    "1e999", "1e-999", "-1e999", r"1 \times 10^{999}", r"\sqrt[0]{7}", r"\log_1 7", r"\log 0", "e^{e^{e^{e^{e}}}}", r"\pi^{\pi^{\pi^{\pi}}}",
    r"\sum_{k=1}^{10^{15}} \frac{\sin k}{k}", r"\prod_{k=1}^{10^9} k", r"\int_0^1 x^{x^{x^{x}}} dx", r"\lim_{n\to\infty} n^{n^n}",
    r"\sum_{i=1}^{999999} \sum_{j=1}^{999999} \sum_{k=1}^{999999} ijk", r"\int\int\int e^{-x^2y^2z^2} dx dy dz", "x^{999999999}", "(x+y+z)^{99999}",
    r"\frac{d^{99} }{d x^{99}} \tan x", r"\gcd(10^{99}, 7)", r"\sin(10^{10^{10}})", r"\Gamma(10^{20})", r"\zeta(10^{20}i)",
    # deep and wide
    nested("(", "x", ")", 990), nested("{", "x", "}", 990), nested(r"\sqrt{", "x", "}", 280), nested(r"\frac{1}{1+", "x", "}", 180),
    nested("x^{", "x", "}", 480), nested("|", "x", "|", 900), nested("-", "x", "", 1900), nested(r"\left(", "x", r"\right)", 120), "1+" * 990 + "1",
    "x_{" * 400 + "1" + "}" * 400, ",".join(["1"] * 990), ",".join(f"x^{n}" for n in range(300)), r"\cup ".join(["(0,1)"] * 240), "&" * 1900,
    r"\begin{pmatrix}" + r"1 & 2 \\ " * 180 + r"\end{pmatrix}", r"\begin{pmatrix}" * 100, r"\{" * 900, r"\pm " * 400 + "1", "=" * 1900, "<" * 1900,
    "x=" * 900 + "1", r"\text{" * 300 + "}" * 300, "or ".join(["x "] * 300), r"\text{ or }".join(["a"] * 140), "(1,2)," * 300, "[" * 1000 + ")" * 900,
    # characters
    "\x00", "7\x00\x01\x02", "\ud800", "\udfff7", "\u202e7\u202c", "\u200b" * 1000, "\u0663" * 500, "𝟕" * 400, "①", "Ⅶ", "七", "７/０",
    "½" * 300, "²" * 600, "√" * 500, "∞/∞", "±" * 500, "’" * 900, "\t\n\r\x0b\x0c", "\\", "\\" * 1001, "%" * 1500, "$" * 1500, "#" * 1500, "~" * 1500,
    "\x1b[31m7", "<script>7</script>", "'; DROP TABLE", "{{7*7}}", "${jndi:x}", "__import__('os').system('true')", "eval('7')", "lambda: 7",
    # commands
    r"\input{/etc/passwd}", r"\def\x{\x\x}\x", r"\loop\iftrue\repeat", r"\newcommand{\a}{\a}\a", r"\unknown{x}{y}", r"\frac", r"\frac{}{}",
    r"\sqrt", r"\sqrt[", r"\sum", r"\int_", "^", "_", "x^", "x__2", "x^^2", r"\begin{x}", r"\end{x}", r"\left", r"\right.", r"\text", r"\mathrm",
    r"\binom", r"\over", r"1 \over 0", r"\not=", r"\mathbb{", r"\operatorname{f}(x)", r"\overline{9}", r"0.\overline{3}", r"\dot{\dot{x}}", r"\ldots",
    # answers that list, hedge or lie about their form
    "A or B or C or D", "A, B, C, D", "A/B/C/D/E", "ABCDEF", "D?", "not D", "(A)(B)(C)(D)", "7 or 8", "7, 8", "6 < x < 8", "7x", "7 \\text{ or not}",
    "7^1", "7!", r"\approx 7.0001", "7 million", "x \\neq 7", "-(-7)", "70/10", "0x7", "07.5", "7.7.7", "7,7", "7 7", "{7", "7}", r"\{7, \ldots\}",
    r"\mathbb{R}", r"\mathbb{C}", r"\infty", r"-\infty", r"\emptyset", r"(-\infty, \infty)", "x", "x=x", "0=0", "1=1", "True", "nan", "None", "undefined",
    "7" + "0" * 400 + "/" + "1" + "0" * 400, "٧٨", "−" * 1000 + "7", r"\text{seven}", "VII", "10^{0.845}", r"7\text{ or }7\pi", "7;8", "7.5", "0.7e2",
]  # fmt: skip

COMPLETIONS = [
    "\\boxed{" * 150_000, "\\boxed{" * 100_000 + "}" * 100_000, "\\boxed{" + "{" * 500_000 + "}" * 500_000 + "}", "x" * MEGABYTE,
    "\\boxed{" + "x" * MEGABYTE + "}", "\\boxed{}" * 100_000, "\\fbox{\\boxed{" * 50_000, "\\boxed" * 150_000, "\\boxed " * 150_000, "{" * MEGABYTE,
    "}" * MEGABYTE, "\\" * MEGABYTE, "<think>" * 150_000, "</think>" * 120_000, "<think></think>" * 60_000, "\\boxed{\\" + "\\" * MEGABYTE + "}",
    "\u202e" * 300_000 + "\\boxed{\u202e}", "\x00" * MEGABYTE, "🙂" * 200_000 + "\\boxed{🙂}", "\\boxed 1" * 100_000 + "2", "\n" * MEGABYTE,
    "\\boxed{7" + " " * MEGABYTE, "\\boxed" + " " * MEGABYTE + "{", "$" * MEGABYTE, "\\boxed{" + "\\{" * 400_000 + "}", "",
]  # fmt: skip


def attacks() -> list[tuple[str, str]]:
    """(completion, gold) pairs; none states its gold."""
    rng = random.Random(0)
    boxed = [(f"So \\boxed{{{content}}}", rng.choice(GOLDS)) for content in CONTENTS]
    return boxed + [(completion, rng.choice(GOLDS)) for completion in COMPLETIONS]


RIGHT_BY_CHANCE = {("7^1", "7"), ("-(-7)", "7")}


def test_there_are_two_hundred():
    assert len(attacks()) >= 200


@pytest.mark.slow
def test_each_ends_with_a_reason_and_none_scores_or_takes_long():
    for completion, gold in attacks():
        start = cpu_seconds()
        (score,) = score_batch([completion], [gold])
        assert isinstance(score.reason, Reason)
        assert score.value == 0.0, (completion[:80], gold)
        assert cpu_seconds() - start < CPU_SECONDS + 4, (completion[:80], gold)


@pytest.mark.slow
def test_the_same_in_one_batch_and_again():
    completions, golds = zip(*attacks(), strict=True)
    start = time.monotonic()
    once, again = score_batch(completions, golds), score_batch(completions, golds)
    assert [score.value for score in once] == [score.value for score in again]
    for first, second in zip(once, again, strict=True):  # an item near its CPU limit may pass it once
        assert first == second or Reason.TIMEOUT in (first.reason, second.reason)
    assert len(once) == len(completions)
    assert time.monotonic() - start < 600


def cpu_seconds() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
