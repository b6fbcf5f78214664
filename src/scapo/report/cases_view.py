"""Responses to read: every token shaded by its drift, the rewrites that caused it beside them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from scapo.report.diff import word_diff
from scapo.report.runs import DriftRun
from scapo.report.text import clean, signed

MAX_CASES = 8
MAX_TOKENS = 1200  # per response: a page of half a million spans helps nobody
SHOW_ALL_UP_TO = 700  # tokens of a group that are shown together; longer groups one response at a time
LEVELS = 9  # shades above none
FULL_SHADE_QUANTILE = 0.97


def cases_view(runs: Sequence[DriftRun]) -> dict[str, Any] | None:
    """Cases of all diagnoses and, as one JSON text for the page's script, the numbers of every token."""
    cases = [(run, case) for run in runs for case in run.cases if case.get("responses")][:MAX_CASES]
    if not cases:
        return None
    top = _full_shade([response for _, case in cases for response in case["responses"]])
    views = [_case(run, case, top) for run, case in cases]
    numbers = [[_numbers(response) for response in case["responses"]] for _, case in cases]
    kinds = {kind for _, case in cases for one in case["responses"] for kind in one.get("drift") or {}}
    data = script_json({"top": top, "levels": LEVELS, "cases": numbers})
    return {"cases": views, "json": data, "top": top, "kinds": sorted(kinds)}


def script_json(value: Any) -> str:
    """JSON that no text inside can end early: `<` is escaped, so neither </script> nor <!-- can appear."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")


def _full_shade(responses: Sequence[Mapping[str, Any]]) -> float:
    values = sorted(value for response in responses for value in response.get("mean_drift") or [])
    return max(values[int(FULL_SHADE_QUANTILE * (len(values) - 1))], 1e-6) if values else 1.0


def shade(value: float, top: float) -> int:
    """0 (none) to LEVELS, in proportion, like the scale on the page."""
    return min(LEVELS, max(0, round(LEVELS * max(value, 0.0) / top)))


def _case(run: DriftRun, case: Mapping[str, Any], top: float) -> dict[str, Any]:
    prompt = clean(case.get("prompt", ""))
    rewrites = (case.get("perturbations") or {}).items()
    responses = [_response(response, top) for response in case["responses"]]
    return {
        "label": run.label,
        "id": clean(case.get("problem_id", "")),
        "prompt": prompt,
        "answer": clean(case.get("answer", "")),
        "right": sum(response["right"] for response in responses),
        "rewrites": [
            {"kind": clean(kind).replace("_", " "), "pieces": word_diff(prompt, clean(text))}
            for kind, text in rewrites
        ],
        "responses": responses,
        "short": sum(response["count"] for response in responses) <= SHOW_ALL_UP_TO,
    }


def _response(response: Mapping[str, Any], top: float) -> dict[str, Any]:
    drift, texts = response.get("mean_drift") or [], response.get("tokens") or []
    advantage = response.get("advantage")
    shown = zip(texts[:MAX_TOKENS], drift[:MAX_TOKENS], strict=False)
    return {
        "right": bool(response.get("reward")),
        "reason": clean(response.get("reason") or "").replace("_", " "),
        "advantage": signed(advantage) if isinstance(advantage, int | float) else "–",
        "mean": sum(drift) / len(drift) if drift else 0.0,
        "tokens": [{"text": clean(text), "level": shade(value, top)} for text, value in shown],
        "count": len(texts),
        "cut": max(0, len(texts) - MAX_TOKENS),
    }


def _numbers(response: Mapping[str, Any]) -> dict[str, Any]:
    """Per-token numbers for the pop-up, rounded to what it shows."""
    return {
        "d": {str(kind): _short(values) for kind, values in (response.get("drift") or {}).items()},
        "m": _short(response.get("mean_drift") or []),
        "u": _short(response.get("u") or []),
        "b": _short(response.get("advantage_augmented") or [], 7),
        "a": response.get("advantage"),
        "c": [str(name) for name in (response.get("classes") or [])[:MAX_TOKENS]],
    }


def _short(values: Sequence[float], digits: int = 4) -> list[float]:
    return [float(f"{value:.{digits}g}") for value in values[:MAX_TOKENS]]
