"""Inspection: nothing is lost or added in the diff, nothing untrusted acts, filters carry the counts."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scripted_endpoint import Answer, apples, as_json, good, good_answer, original_of, serving

from scapo.errors import ScapoError
from scapo.files import write_jsonl
from scapo.perturb.inspect import inspect_file, print_items
from scapo.perturb.inspect_items import diff, read_items
from scapo.perturb.inspect_page import write_page
from scapo.perturb.kinds import SEMIFACTUAL, Kind
from scapo.perturb.llm.run import run_llm
from scapo.perturb.llm.settings import LlmSettings
from scapo.problems import Problem

ROW = {
    "id": "p1",
    "problem": "Tom has 3 apples. <script>alert(1)</script> [bold]How many?[/bold]\x1b[31m\u202e",
    "answer": "3",
    "perturbations": {
        "typo_noise": "Tom has 3 appels. <script>alert(1)</script> [bold]How many?[/bold]\x1b[31m\u202e"
    },
    "provenance": {"typo_noise": {"generator": "rules", "version": "1", "seed": 0}},
    "absent": {
        "paraphrase": {"status": "refused", "reason": "new_number: 4 is new", "text": "Tom has 4 apples."}
    },
}


@pytest.fixture
def out(tmp_path):
    write_jsonl(tmp_path / "out.jsonl", [ROW])
    return tmp_path / "out.jsonl"


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_diff_holds_both_texts_whole(original, text):
    left, right = diff(original, text)
    assert "".join(piece for piece, _ in left) == original
    assert "".join(piece for piece, _ in right) == text
    if original == text:
        assert not any(changed for _, changed in left + right)


def test_only_the_changed_word_is_marked():
    left, right = diff("Tom has 3 apples now.", "Tom has 3 appels now.")
    assert [piece for piece, changed in left if changed] == ["apples"]
    assert [piece for piece, changed in right if changed] == ["appels"]


def test_items_say_what_became_of_each_kind(out):
    refused, made = read_items(out)
    assert (refused.kind, refused.state, refused.code) == ("paraphrase", "refused", "new_number")
    assert (made.kind, made.state, made.maker) == ("typo_noise", "made", "rules")
    assert [item.kind for item in read_items(out, [Kind.TYPO_NOISE])] == ["typo_noise"]


def test_a_foreign_file_is_refused(tmp_path):
    write_jsonl(tmp_path / "x.jsonl", [{"problem": "a"}])
    with pytest.raises(ScapoError, match="line 1 is no row written by"):
        list(read_items(tmp_path / "x.jsonl"))


def test_the_terminal_shows_markup_and_escapes_as_plain_characters(out):
    stream = io.StringIO()
    print_items(read_items(out), Console(file=stream, width=160, force_terminal=False))
    shown = stream.getvalue()
    assert "[bold]How many?[/bold]" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "new_number: 4 is new" in shown


def test_the_page_escapes_texts_marks_changes_and_has_filters(out, tmp_path):
    write_page(tmp_path / "page.html", "out.jsonl", list(read_items(out)))
    html = (tmp_path / "page.html").read_text()
    assert html.count("<script>") == 1
    assert "&lt;script&gt;alert(1)" in html
    assert "<del>apples</del>" in html
    assert "<ins>appels</ins>" in html
    assert '<option value="new_number">new_number (1)</option>' in html
    assert '<option value="typo_noise">typo_noise (1)</option>' in html
    assert not re.search(r"(src|href)\s*=", html)  # self-contained


def test_refused_attempts_of_the_journal_can_be_read_too(tmp_path, monkeypatch):
    monkeypatch.setenv("SCAPO_LLM_API_KEY", "x")

    def script(body, n):
        if n > 1:
            return good_answer(body)
        return Answer(as_json(good(original_of(body)) | {Kind.PARAPHRASE: "Tom has 5 pears. How many?"}))

    out = tmp_path / "out.jsonl"
    with serving(script) as server:
        settings = LlmSettings(model="m", base_url=server.url)
        run_llm([Problem("a", apples(10), "14")], out, kinds=list(SEMIFACTUAL), settings=settings)
    states = [(item.kind, item.state) for item in read_items(out)]
    assert ("paraphrase", "made") in states
    assert ("paraphrase", "retried") in states


def test_inspecting_a_file_prints_a_part_and_writes_the_page(out, capsys):
    inspect_file(out, kinds=None, limit=None, page=out.with_suffix(".html"))
    assert "2 of 2 shown" in capsys.readouterr().out
    assert out.with_suffix(".html").is_file()


def test_very_long_texts_are_shown_without_comparing_them():
    left, right = diff("a b " * 3000, "a c " * 3000)
    assert left == [("a b " * 3000, True)]
    assert right == [("a c " * 3000, True)]
