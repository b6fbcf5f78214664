"""Whole runs against a real HTTP server that misbehaves by script."""

import json

import pytest
from scripted_endpoint import (
    Answer,
    apples,
    good,
    good_answer,
    is_judge,
    original_of,
    serving,
    wanted_of,
    as_json,
)

from scapo.errors import ScapoError
from scapo.files import read_jsonl
from scapo.perturb.journal import Journal, journal_path
from scapo.perturb.kinds import SEMIFACTUAL, Kind
from scapo.perturb.llm import pacing
from scapo.perturb.llm.run import run_llm
from scapo.perturb.llm.settings import LlmSettings
from scapo.problems import Problem

KINDS = list(SEMIFACTUAL)


def problems(count):
    return [Problem(str(n), apples(n + 10), str(n + 14)) for n in range(count)]


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(pacing, "FIRST_DELAY", 0.01)
    monkeypatch.setattr(pacing, "LONGEST_DELAY", 0.1)
    monkeypatch.setenv("SCAPO_LLM_API_KEY", "sk-very-secret")


def perturb(script, out, count=3, kinds=KINDS, **options):
    """Run to the end; returns rows, journal and server."""
    with serving(script) as server:
        settings = LlmSettings(**{"model": "m", "base_url": server.url, "concurrency": 4, **options})
        run_llm(problems(count), out, kinds=kinds, settings=settings)
    with Journal(journal_path(out)) as journal:
        return [row for _, row in read_jsonl(out)], journal, server


def test_one_call_makes_all_four_kinds(tmp_path):
    rows, journal, server = perturb(lambda body, n: good_answer(body), tmp_path / "out.jsonl")
    assert server.count == 3
    for row in rows:
        assert row["perturbations"] == {str(k): t for k, t in good(row["problem"]).items() if k in KINDS}
        assert row["provenance"]["paraphrase"]["generator"] == "llm"
        assert row["provenance"]["paraphrase"]["model"] == "m"
        assert row["absent"] == {}
    assert journal.calls == {"ok": 3}
