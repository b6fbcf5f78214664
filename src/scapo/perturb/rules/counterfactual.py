"""`counterfactual`: one quantity changed."""

import random

from scapo.perturb.spans import SpanKind, spans


def counterfactual(problem: str, generator: random.Random) -> str | None:
    """Replace one integer outside math by a near one."""
    numbers = [s for s in spans(problem) if s.kind is SpanKind.NUMBER and s.text.isdigit() and len(s.text) < 7]
    if not numbers:
        return None
    span = generator.choice(numbers)
    new = int(span.text) + generator.randint(1, max(1, int(span.text) // 5))
    return f"{problem[:span.start]}{new}{problem[span.end:]}"
