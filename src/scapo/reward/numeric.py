"""Equality of sympy scalars: exact for rationals, to many digits for other numbers, at points for symbols."""

import math
from collections.abc import Iterator

import sympy
from sympy.core.function import AppliedUndef

MAX_DIGITS = 100_000
"""Powers and factorials with more digits than this are not computed."""
MAX_EXPONENT = 1e9
"""Of e; exponentials are computed in floating point, so only their exponent costs."""
DECIMAL_TOLERANCE = sympy.Rational(1, 10**6)
"""Relative; applies only where the gold itself holds a decimal: exact golds want exact answers."""
_NEEDED_POINTS = 3
_SYMBOL_DIGITS = 2.0  # sample coordinates stay below 100


def equal(gold: sympy.Expr, box: sympy.Expr) -> bool | None:
    """Whether two scalars are equal; None when no value could be computed."""
    tolerance = DECIMAL_TOLERANCE if gold.has(sympy.Float) else sympy.Integer(0)
    gold, box = _exact(gold), _exact(box)
    if gold == box:
        return True
    symbols = _symbols(gold, box)
    if not symbols:
        return _values_equal(gold.doit(), box.doit(), tolerance)
    complex_valued = gold.has(sympy.I) or box.has(sympy.I)
    steps = gold.has(sympy.floor, sympy.ceiling) or box.has(sympy.floor, sympy.ceiling)
    agreed = 0
    for point in _points(symbols, steps):
        left, right = gold.xreplace(point).doit(), box.xreplace(point).doit()
        same = _values_equal(left, right, tolerance)
        if same is False and (complex_valued or (_is_real(left) and _is_real(right))):
            return False  # where a value isn't real, roots and logarithms may differ by their branch only
        agreed += same is True
    return True if agreed >= _NEEDED_POINTS else None


def proportional(gold: sympy.Expr, box: sympy.Expr) -> bool | None:
    """Whether one is a constant times the other (not 0): two equations `... = 0` then say the same."""
    gold, box = _exact(gold), _exact(box)
    for point in _points(_symbols(gold, box)):
        left, right = gold.xreplace(point).doit(), box.xreplace(point).doit()
        if all(_is_number(value) and value != 0 for value in (left, right)):
            return equal(gold * right, box * left)
    return None


def is_computable(expression: sympy.Expr) -> bool:
    """Whether all numbers inside stay within MAX_DIGITS (exponentials MAX_EXPONENT), judged without computing."""
    try:
        _log10(expression)
    except OverflowError:
        return False
    return True


def _exact(expression: sympy.Expr) -> sympy.Expr:
    """Decimals as the fractions they were written as, i as the imaginary unit, functions as symbols."""
    for kind in (sympy.Derivative, AppliedUndef):
        expression = expression.xreplace({part: sympy.Symbol(str(part)) for part in expression.atoms(kind)})
    replacements: dict[sympy.Basic, sympy.Basic] = {
        **{decimal: sympy.Rational(str(decimal)) for decimal in expression.atoms(sympy.Float)},
        **{symbol: sympy.I for symbol in expression.free_symbols if str(symbol) == "i"},
    }
    return expression.xreplace(replacements)


def _symbols(*expressions: sympy.Expr) -> list[sympy.Basic]:
    return sorted(set().union(*(expression.free_symbols for expression in expressions)), key=str)


def _values_equal(left: sympy.Expr, right: sympy.Expr, tolerance: sympy.Rational) -> bool | None:
    if left.is_Rational and right.is_Rational:
        return bool(abs(left - right) <= tolerance * abs(left))
    atoms = (left - right).atoms(sympy.Rational)
    digits = 120 + 3 * max((int(_log10(atom)) + 1 for atom in atoms), default=0)
    sizes = [abs(value.evalf(15, maxn=digits)) for value in (left - right, left, right)]
    if not all(_is_number(size) for size in sizes):
        return None
    difference, *values = sizes
    zero = sympy.Float(10, 15) ** -(digits // 2)  # what evalf leaves of an exact 0 lies far below
    if max(values) <= zero or difference <= zero * min(1, max(values)):
        return True
    return bool(difference <= tolerance * values[0])


def _is_number(value: sympy.Expr) -> bool:
    return bool(value.is_number and value.is_finite)


def _is_real(value: sympy.Expr) -> bool:
    real, imaginary = value.evalf(15).as_real_imag()
    return bool(abs(imaginary) <= 1e-12 * abs(real))


def _points(symbols: list[sympy.Basic], steps: bool = False) -> Iterator[dict[sympy.Basic, sympy.Basic]]:
    """Sample points with distinct coordinates: whole numbers, fractions in (0, 1), above 1, negative.

    With `steps` (floor, ceiling) also many small whole numbers: step functions agree at few points by chance.
    """
    lines = [
        line
        for shift in range(4)
        for line in (
            (5 + 7 * shift, 1, 3),
            (3 + shift, 29 + 4 * shift, 2),
            (13 + 5 * shift, 9 + shift, 4),
            (-11 - 3 * shift, 8 + shift, -5),
        )
    ]
    lines += [(start, 1, 2) for start in range(1, 31)] if steps else []
    for numerator, denominator, step in lines:
        yield {s: sympy.Rational(numerator + step * at, denominator) for at, s in enumerate(symbols)}


def _log10(expression: sympy.Basic) -> float:
    """An upper bound for the size (and so for the exact digits), as logarithm. OverflowError if too large."""
    if isinstance(expression, sympy.Rational):
        return max(math.log10(abs(expression.p) or 1), math.log10(expression.q))
    parts = [_log10(part) for part in expression.args]
    if isinstance(expression, sympy.exp):
        return _at_most(MAX_EXPONENT, _size(expression.args[0], parts[0]))
    if isinstance(expression, sympy.Pow):
        return _at_most(MAX_DIGITS, parts[0] * _size(expression.exp, parts[1]))
    if isinstance(expression, sympy.factorial | sympy.binomial | sympy.gamma):
        factors = min(_size(part, digits) for part, digits in zip(expression.args, parts, strict=True))
        return _at_most(MAX_DIGITS, (parts[0] + 1) * factors)
    if isinstance(expression, sympy.Mul):
        return sum(parts)
    if isinstance(expression, sympy.Add):
        return max(parts) + math.log10(len(parts))
    return max(parts, default=_SYMBOL_DIGITS)


def _size(value: sympy.Basic, log10: float) -> float:
    """An upper bound for |value|, at least 1."""
    return max(1.0, abs(float(value)) if isinstance(value, sympy.Rational) else 10.0**log10)


def _at_most(limit: float, value: float) -> float:
    if value > limit:
        raise OverflowError
    return value
