"""The decoding section: counts, McNemar's p, rejections, and names that tell outputs apart."""

import re

import pytest
from made_compare import decode_folder

from scapo.report import build_report
from scapo.report.decode_view import decode_view, p_text
from scapo.report.runs import load_runs


def view_of(*paths):
    return decode_view(load_runs(paths).decode)


def test_accuracies_and_interval_follow_from_the_counts(tmp_path):
    (row,) = view_of(decode_folder(tmp_path / "d"))["rows"]
    # 40 problems: both 20, lost 3, gained 9 -> 23 and 29 solved; t with 39 degrees of freedom: 2.0227 * 0.0837
    assert (row["plain"], row["filtered"], row["difference"]) == ("57.5", "72.5", "+15.0")
    assert row["interval"] == "−1.9 to +31.9"
    assert (row["p"], row["verdict"]) == ("0.15", "noise")
    assert (row["rejections"], row["rejected_steps"], row["tokens"]) == ("2.5", "7.5", "33.1 / 32.4")


@pytest.mark.parametrize(
    ("p", "lost", "verdict"),
    [(0.04, 3, "higher"), (0.04, 30, "lower"), (0.05, 3, "noise"), (None, 3, "unknown")],
)
def test_the_verdict_is_mcnemars(tmp_path, p, lost, verdict):
    (row,) = view_of(decode_folder(tmp_path / "d", mcnemar_p=p, lost=lost))["rows"]
    assert row["verdict"] == verdict


@pytest.mark.parametrize(
    ("p", "text"), [(1.0, "1"), (0.0162, "0.016"), (1.2e-7, "1 × 10⁻⁷"), (0.0, "0"), (None, "–")]
)
def test_small_p_values_tell_their_order(p, text):
    assert p_text(p) == text


def test_outputs_are_named_by_problems_then_model_then_folder(tmp_path):
    one = decode_folder(tmp_path / "a", data="runs/noop.perturbed.jsonl")
    two = decode_folder(tmp_path / "b", data="runs/agree.perturbed.jsonl")
    assert [row["name"] for row in view_of(one, two)["rows"]] == ["noop", "agree"]
    three = decode_folder(tmp_path / "c", data="runs/agree.perturbed.jsonl")
    assert [row["name"] for row in view_of(two, three)["rows"]] == ["agree (b)", "agree (c)"]
    four = decode_folder(tmp_path / "e", data="runs/agree.perturbed.jsonl", label="SCAPO")
    assert [row["name"] for row in view_of(two, four)["rows"]] == ["base, agree", "SCAPO, agree"]
    (tmp_path / "a" / "settings.json").unlink()
    assert [row["name"] for row in view_of(one)["rows"]] == ["base"]


def test_an_output_without_counts_is_left_out(tmp_path):
    path = decode_folder(tmp_path / "d", both=None, lost=None, gained=None, neither="x")
    assert view_of(path) is None


def test_the_page_has_the_section_alone_and_escapes_names(tmp_path):
    html = build_report([decode_folder(tmp_path / "d", label="<b>", data="<i>.jsonl")])
    assert re.findall(r'<section id="(\w+)"', html) == ["decoding", "setup"]
    assert "3 lost, 9 gained" in html
    assert "<i>.jsonl" not in html
    assert "Model: &lt;b&gt;" in html
