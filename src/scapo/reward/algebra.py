r"""Compare single expressions: parsed by Math-Verify's LaTeX parser, compared exactly or at sample points.

Scalars are never simplified (simplification is where comparisons hang) and never rounded to a fixed number of
decimals (1/2004! isn't 1/2006!). What isn't a scalar (sets, inequalities) goes to Math-Verify's `verify`.
Runs in a worker process only: nothing else imports sympy or math_verify.
"""

import logging
import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

import math_verify
import sympy
from latex2sympy2_extended import NormalizationConfig, latex2sympy, normalize_latex
from latex2sympy2_extended.latex2sympy2 import ConversionConfig
from math_verify.grader import should_treat_as_complex
from math_verify.parser import get_last_eq

from scapo.reward import numeric
from scapo.reward.number import percent_factors, without_percent, without_units
from scapo.reward.outcome import Reason

MAX_DEPTH = 60
"""Bracket nesting; the parser is recursive."""
MAX_RELATIONS = 20
"""Equals signs; the parser takes seconds for "x=x=x=..."."""

_NORMALISATION = NormalizationConfig(
    basic_latex=True, units=True, malformed_operators=True, nits=True, boxed="none", equations=False
)
_DEGREES = re.compile(r" ?\^\{\\circ\}")
_LOG = re.compile(r"\\log(?![A-Za-z])(?! ?_)")  # without a base, \log and \ln are used for the same function
_LETTER = re.compile(r"\\[A-Za-z]+|([A-Za-z])")

for _name in ("math_verify", "latex2sympy2_extended"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class Unreadable(Exception):
    """A text can't be parsed or is too large to compute; `reason` says whose text it is."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


def equal(gold: str, box: str) -> bool:
    """Whether two expressions are equal. Raises Unreadable."""
    keep_case = _has_both_cases(gold)
    (gold, gold_percent), (box, box_percent) = without_percent(gold), without_percent(box)
    wanted = _readable(gold, keep_case, Reason.GOLD_UNPARSEABLE)
    found = _readable(box, keep_case, Reason.UNPARSEABLE)
    same = _same(wanted, found, percent_factors(gold_percent, box_percent))
    if same is not None:
        return same
    return bool(math_verify.verify(wanted, found, allow_set_relation_comp=True, timeout_seconds=None))


def _same(wanted: Any, found: Any, factors: tuple[Fraction, ...]) -> bool | None:
    """Our own comparison of scalars and equations, None for everything else."""
    if isinstance(wanted, sympy.Eq) and isinstance(found, sympy.Eq):
        sides = [side for equation in (wanted, found) for side in equation.args]
        scalars = all(isinstance(side, sympy.Expr) for side in sides)
        return numeric.proportional(sides[0] - sides[1], sides[2] - sides[3]) if scalars else None
    if not (isinstance(wanted, sympy.Expr) and isinstance(found, sympy.Expr)):
        return None
    results = [numeric.equal(wanted, sympy.Rational(f.numerator, f.denominator) * found) for f in factors]
    return None if None in results else True in results


def _readable(text: str, keep_case: bool, reason: Reason) -> Any:
    expression = parse(text, keep_case)
    if expression is None or (isinstance(expression, sympy.Expr) and not numeric.is_computable(expression)):
        raise Unreadable(reason)
    return expression


@lru_cache(maxsize=512)
def parse(text: str, keep_case: bool = False) -> Any:
    """The whole text as a sympy object, None when the parser can't read it (no guessing from its parts)."""
    if _depth(text) > MAX_DEPTH or text.count("=") > MAX_RELATIONS:
        return None
    latex = normalize_latex(without_units(_LOG.sub(r"\\ln", _DEGREES.sub("", text))), config=_NORMALISATION)
    for candidate in dict.fromkeys([latex, get_last_eq(latex)]):
        try:
            expression = latex2sympy(
                candidate,
                is_real=not should_treat_as_complex(candidate),
                convert_degrees=False,
                normalization_config=None,
                conversion_config=ConversionConfig(lowercase_symbols=not keep_case),
            )
        except Exception:  # the parser raises many types; None is the answer
            continue
        return expression
    return None


def _has_both_cases(text: str) -> bool:
    """`R/r` needs its cases; elsewhere `N` and `n` may stand for each other."""
    letters = {match[1] for match in _LETTER.finditer(text) if match[1]}
    return any(letter.swapcase() in letters for letter in letters)


def _depth(text: str) -> int:
    depth = deepest = 0
    for character in text:
        depth += (character in "({[") - (character in ")}]")
        deepest = max(deepest, depth)
    return deepest
