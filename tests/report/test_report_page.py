"""The page: complete, self-contained, safe, honest about what is missing."""

import json
import re
import xml.etree.ElementTree as ET

import pytest
from made_runs import KINDS, case_row, drift_run, eval_run, train_run, whole_set
from rich.console import Console
from typer import Typer
from typer.testing import CliRunner

from scapo.errors import ScapoError
from scapo.files import write_json, write_jsonl
from scapo.report import build_report
from scapo.report.command import report
from scapo.report.results import gather
from scapo.report.runs import load_runs
from scapo.report.style import assign_styles
from scapo.report.terminal import print_results

SECTIONS = ("results", "training", "drift", "responses", "time", "setup")


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return whole_set(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def page(paths):
    return build_report(paths, "scapo report runs")


def sections(html):
    return tuple(re.findall(r'<section id="(\w+)"', html))


def test_every_section_is_there(page):
    assert sections(page) == SECTIONS


def test_nothing_is_loaded_from_elsewhere(page):
    without_namespaces = re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
    assert "http:" not in without_namespaces
    assert "https:" not in without_namespaces
    assert not re.search(r"<(link|img|iframe|object|embed)\b|\ssrc=|@import|url\((?!#)", without_namespaces)


def test_the_augmentation_phase_is_named_and_shaded(page):
    assert "SCAPO: steps 1 to 20" in page
    assert "var(--shade)" in page


def test_the_page_is_the_same_bytes_each_time(paths, page):
    assert build_report(paths, "scapo report runs") == page


def test_plots_are_wellformed_and_share_no_ids(page):
    plots = re.findall(r'<svg class="plot".*?</svg>', page, flags=re.DOTALL)
    assert len(plots) > 10
    ids = [id_ for plot in plots for id_ in re.findall(r'\bid="([^"]+)"', plot)]
    assert len(ids) == len(set(ids))
    for plot in plots:
        assert ET.fromstring(plot).get("aria-label")
        assert not re.search(r"#0000[ab][0-9a-f]", plot)  # every placeholder colour was replaced


def test_numbers_of_tokens_are_in_the_page(page, tmp_path):
    data = json.loads(
        re.search(r'<script type="application/json" id="numbers">(.*?)</script>', page, re.DOTALL)[1]
    )
    first = data["cases"][0][0]
    row = case_row("world-17", 8)["responses"][0]
    assert first["a"] == row["advantage"]
    assert list(first["d"]) == list(KINDS)
    assert first["u"] == pytest.approx(row["u"], rel=1e-3)
    assert first["b"] == pytest.approx(row["advantage_augmented"], rel=1e-3)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda p: train_run(p, "GRPO"), ("training", "time", "setup")),
        (lambda p: eval_run(p, "GRPO", "m", {"agree": 0.5}, problems=10), ("results", "setup")),
        (drift_run, ("drift", "responses", "setup")),
    ],
)
def test_missing_pieces_leave_out_their_section(tmp_path, make, expected):
    assert sections(build_report([make(tmp_path / "run")])) == expected


HOSTILE = (
    "</script><img onerror=\"window.broken=1\" src=x><svg onload='window.broken=1'>{{ 7*7 }} $\\frac{ ]]>"
)


def test_hostile_text_stays_text(tmp_path):
    drift_run(tmp_path / "drift", label=HOSTILE)
    case = case_row(HOSTILE, 2, HOSTILE, [HOSTILE, "<!--", "\x00", "\u202e"], answer=HOSTILE)
    case["perturbations"] = {HOSTILE: HOSTILE + " x", "paraphrase": HOSTILE}
    for response in case["responses"]:
        response |= {"reason": HOSTILE, "classes": [HOSTILE] * 4, "drift": {HOSTILE: [0.1] * 4}}
    write_jsonl(tmp_path / "drift" / "cases.jsonl", [case])
    train_run(tmp_path / "train", HOSTILE, n_0=5)
    eval_run(tmp_path / "eval", HOSTILE, HOSTILE, {HOSTILE: 0.5}, problems=6)
    page = build_report([tmp_path / name for name in ("drift", "train", "eval")], HOSTILE)
    assert "<img" not in page
    assert "<svg onload" not in page
    assert "{{ 7*7 }}" in page
    assert page.count("</script>") == page.count("<script") == 2


def test_the_policy_allows_only_the_pages_own_script(page):
    assert re.search(r"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-[\w+/=]+'", page)


def test_a_run_in_progress_is_shown_as_far_as_it_got(tmp_path):
    run = train_run(tmp_path / "scapo", "SCAPO", steps=12, n_0=5)
    (run / "model").rmdir()
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 13, "rew')
    page = build_report([run])
    assert "shown up to step 12" in page
    assert "the last line is cut off" in page


def test_a_run_without_steps_has_a_note_and_no_curves(tmp_path):
    run = train_run(tmp_path / "scapo", "SCAPO", steps=0)
    page = build_report([run, eval_run(tmp_path / "e", "base", "m", {"agree": 0.5}, problems=5)])
    assert sections(page) == ("results", "setup")
    assert "no step has been written" in page


def test_nan_and_text_in_metrics_are_skipped(tmp_path):
    run = train_run(tmp_path / "scapo", "SCAPO", steps=3)
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "lambda": 0, "reward/mean": NaN, "loss": "none", "u": {"edges": []}}\n')
    assert "training" in sections(build_report([run]))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("results.json", "{", "not valid JSON"),
        ("results.json", "[1]", "expected a JSON object"),
        ("results.json", '{"suites": [1]}', "'suites' must be"),
        ("drift.json", "\ufffd", "not valid JSON"),
        ("other.json", "{}", "holds none of config.json, results.json, drift.json, compare.json"),
    ],
)
def test_broken_directories_are_one_sentence(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(ScapoError, match=re.escape(words)) as caught:
        build_report([tmp_path])
    assert str(tmp_path) in str(caught.value)


def test_a_bad_line_inside_a_file_is_named(tmp_path):
    run = train_run(tmp_path / "run", "GRPO", steps=3)
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    (run / "metrics.jsonl").write_text(lines[0] + "{oops\n" + lines[1])
    with pytest.raises(ScapoError, match="line 2: not valid JSON"):
        build_report([run])


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(ScapoError, match="is not a directory"):
        build_report([tmp_path / "absent"])


def test_a_parent_folder_stands_for_the_runs_inside_but_not_for_models(tmp_path):
    whole_set(tmp_path)
    write_json(tmp_path / "grpo" / "model" / "config.json", {"architectures": ["Qwen3ForCausalLM"]})
    write_json(tmp_path / "world" / "base" / "config.json", {"architectures": ["Qwen3ForCausalLM"]})
    runs = load_runs([tmp_path])
    assert (len(runs.train), len(runs.evaluate), len(runs.diagnose)) == (2, 3, 1)


def test_known_methods_keep_their_colours_and_no_two_share_one():
    styles = assign_styles(["base", "x", "GRPO", "y", "SCAPO"])
    assert (styles["base"], styles["GRPO"], styles["SCAPO"]) == (0, 1, 2)
    assert len(set(styles.values())) == 5
    assert len(assign_styles([str(i) for i in range(20)])) == 20


def test_seeds_of_one_method_become_one_curve_with_a_band(tmp_path):
    paths = [train_run(tmp_path / f"s{seed}", "SCAPO", seed=seed, n_0=5) for seed in (0, 1, 2)]
    page = build_report(paths)
    assert "seeds 0, 1, 2" in page
    assert "Bands: one standard error over seeds" in page


def test_checkpoint_evaluations_draw_an_accuracy_curve(tmp_path):
    run = train_run(tmp_path / "grpo", "GRPO", steps=20)
    evals = [
        eval_run(
            tmp_path / f"e{n}", "GRPO", str(run / f"checkpoint-{n}"), {"agree": 0.4 + n / 50}, problems=20
        )
        for n in (5, 10, 20)
    ]
    page = build_report([run, *evals])
    assert "Accuracy on agree over training: GRPO" in page


def command_line(arguments):
    app = Typer(pretty_exceptions_enable=False)
    app.command("report")(report)
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_the_command_writes_the_page_and_prints_the_table(paths, tmp_path):
    evaluations = [str(path) for path in paths if "eval" in path.name]
    result = command_line([*evaluations, "-o", str(tmp_path / "out" / "report.html")])
    assert result.exit_code == 0
    assert "SCAPO against GRPO:" in result.output
    assert "conflict" in result.output
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"scapo report {evaluations[0]}" in page


def test_the_terminal_table_states_errors_counts_and_leaders(paths):
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    print_results(gather(load_runs(paths)), console)
    text = console.export_text()
    assert "200 × 4" in text
    assert re.search(r"conflict .*38.1 ± 2.0 │.*57.9 ± 2.2≈", text)
    assert "SCAPO against GRPO: within noise on" in text
