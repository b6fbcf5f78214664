"""Numbers and untrusted strings as the reader sees them."""

import math
from datetime import datetime
from typing import Any

MINUS = "−"


def percent(value: float | None, digits: int = 1) -> str:
    """0.7123 -> "71.2"; the caller writes the sign or the column head."""
    return "–" if value is None else f"{100 * value:.{digits}f}".replace("-", MINUS)


def signed(value: float, digits: int = 2) -> str:
    """A number that always shows its sign; what rounds to 0 has none: 0.754 -> "+0.75"."""
    text = f"{value:+.{digits}f}"
    return (text if float(text) else f"{0:.{digits}f}").replace("-", MINUS)


def points(value: float) -> str:
    """A difference of shares in percentage points: 0.012 -> "+1.2"."""
    return signed(100 * value, 1)


def short(value: Any) -> str:
    """Any number in at most about six characters: 0.01640, 3.2e-07, 12,345."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return "–"
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{round(value):,}".replace("-", MINUS)
    text = f"{value:.4g}" if value == 0 or abs(value) >= 1e-4 else f"{value:.1e}"
    return text.replace("-", MINUS) if not text.count("e-") else text


def duration(seconds: float) -> str:
    """Seconds for people: "12.3 s", "4 min 05 s", "2 h 07 min"."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"


def clean(text: Any) -> str:
    """A string that can't harm the page: control characters become visible symbols, lone surrogates go."""
    out = str(text).encode("utf-8", "replace").decode("utf-8")
    return out.translate(_CONTROLS)


_CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"} | {127: "␡"}
_CONTROLS |= dict.fromkeys(range(128, 160), "�")


def when(stamp: str) -> str:
    """An ISO time for people, "30 November 2026, 20:57 UTC"; any other text as it is."""
    try:
        time = datetime.fromisoformat(stamp)
    except ValueError:
        return clean(stamp)
    return f"{time.day} {time:%B %Y, %H:%M %Z}".strip()


def plural(name: str) -> str:
    """ "evaluation" -> "evaluations", "diagnosis" -> "diagnoses"."""
    return name.removesuffix("is") + "es" if name.endswith("is") else name + "s"
