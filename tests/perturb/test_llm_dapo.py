"""The 108 real rows, Chinese ones and LaTeX quirks included, from file to file through a real HTTP server."""

import json
from pathlib import Path

import pytest
from scripted_endpoint import Answer, original_of, serving, wanted_of

from scapo.files import read_jsonl
from scapo.perturb.kinds import SEMIFACTUAL, Kind
from scapo.perturb.llm.run import run_llm
from scapo.perturb.llm.settings import LlmSettings
from scapo.perturb.rules import perturb_by_rule
from scapo.problems import Problem

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "dapo_math_sample.jsonl"
pytestmark = pytest.mark.skipif(
    not DATA.is_file(), reason="the shared data folder is not beside the checkout"
)


def proper_json(texts):
    return json.dumps(texts)


def careless_json(texts):
    r"""As models write it: `\frac` instead of `\\frac` inside the strings."""
    return json.dumps(texts, ensure_ascii=False).replace("\\\\", "\\")


def doubled_json(texts):
    return json.dumps({kind: text.replace("\\", "\\\\") for kind, text in texts.items()})


def marked_text(texts):
    return "".join(f"<<<{kind}>>>\n{text}\n" for kind, text in texts.items()) + "<<<end>>>"


@pytest.mark.parametrize("form", [proper_json, careless_json, doubled_json, marked_text])
def test_all_rows_come_through_with_their_latex_untouched(tmp_path, form):
    problems = [
        Problem(row["id"], row["problem"], row["answer"], {"lang": row["lang"]})
        for _, row in read_jsonl(DATA)
    ]
    said: dict[tuple[str, Kind], str] = {}

    def script(body, n):
        original = original_of(body)
        for kind in wanted_of(body):
            text = perturb_by_rule(kind, original, "no answer", 7)
            said[original, kind] = original if text is None else text  # unchanged: to be refused
        return Answer(form({str(kind): said[original, kind] for kind in wanted_of(body)}))

    with serving(script) as server:
        settings = LlmSettings(model="m", base_url=server.url, attempts=1, concurrency=8)
        summary = run_llm(problems, tmp_path / "out.jsonl", kinds=list(SEMIFACTUAL), settings=settings)
    rows = [row for _, row in read_jsonl(tmp_path / "out.jsonl")]
    assert [row["id"] for row in rows] == [problem.id for problem in problems]
    assert {counts.total() for counts in summary.by_kind.values()} == {108}
    for row in rows:
        for kind, entry in row["provenance"].items():
            if entry["generator"] == "llm":
                assert row["perturbations"][kind] == said[row["problem"], Kind(kind)]
    by_model = sum(entry["generator"] == "llm" for row in rows for entry in row["provenance"].values())
    offered = sum(said[row["problem"], kind] != row["problem"] for row in rows for kind in SEMIFACTUAL)
    assert by_model >= 0.99 * offered > 200
    english = [row for row in rows if row["lang"] == "en"]
    for kind in ("typo_noise", "scenario_wrap", "irrelevant_context"):
        assert sum(kind in row["perturbations"] for row in english) >= 0.99 * len(english)
    for row in rows:
        if row["lang"] == "zh":
            assert set(row["perturbations"]) <= {"irrelevant_context"}
