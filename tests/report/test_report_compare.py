"""A folder of `scapo compare`: its runs are found, ten methods stay readable, and nothing is said twice."""

import re

import pytest
from made_compare import TEN, compare_folder
from made_runs import eval_run, train_run

from scapo.errors import ScapoError
from scapo.files import write_json
from scapo.report import build_report
from scapo.report.results import gather
from scapo.report.results_view import results_view, sentences
from scapo.report.runs import load_runs
from scapo.report.style import SERIES, assign_styles


@pytest.fixture(scope="module")
def ten(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "compare"
    compare_folder(out, failed=("fipo", 2))
    return out


@pytest.fixture(scope="module")
def page(ten):
    return build_report([ten])


def section(html, name):
    found = re.search(rf'<section id="{name}">(.*?)</section>', html, re.DOTALL)
    return found and re.sub(r"<svg.*?</svg>", "", found[1], flags=re.DOTALL)


def cells_of(html, label):
    """The text of a table row's cells, first row whose head ends with `label`."""
    row = re.search(rf'<th scope="row">(?:<i[^>]*></i>)?{re.escape(label)}</th>(.*?)</tr>', html, re.DOTALL)[
        1
    ]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in cells]


def test_trainings_and_the_evaluations_inside_them_are_found(ten):
    runs = load_runs([ten])
    assert (len(runs.train), len(runs.evaluate), len(runs.compare)) == (30, 29, 1)
    assert {run.seed for run in runs.train} == {1, 2, 3}


def test_a_training_shows_its_evaluation_but_no_model_or_checkpoint_inside(tmp_path):
    run = train_run(tmp_path / "grpo", "GRPO", seed=4)
    eval_run(run / "evaluate", "GRPO", str(run / "model"), {"agree": 0.5}, problems=5)
    train_run(run / "checkpoint-3", "GRPO")
    write_json(run / "model" / "config.json", {"architectures": ["Qwen3ForCausalLM"]})
    runs = load_runs([run])
    assert (len(runs.train), len(runs.evaluate)) == (1, 1)
    assert list(gather(runs).cells["GRPO", "agree"].stated) == ["seed 4"]


def test_a_comparison_that_was_copied_elsewhere_keeps_its_seeds(tmp_path):
    for seed in (1, 2):
        run = train_run(tmp_path / "grpo" / f"seed-{seed}", "GRPO", seed=seed, steps=2)
        model = f"runs/compare/grpo/seed-{seed}/model"
        eval_run(run / "evaluate", "GRPO", model, {"agree": 0.5}, problems=5)
    assert list(gather(load_runs([tmp_path])).cells["GRPO", "agree"].stated) == ["seed 1", "seed 2"]


def test_a_comparison_that_is_not_finished_shows_its_runs(tmp_path):
    compare_folder(tmp_path, methods=("grpo", "scapo"), seeds=(1, 2), write=False)
    html = build_report([tmp_path])
    assert section(html, "comparison") is None
    assert "paired by seed" in section(html, "results")


def test_ten_methods_have_ten_styles_and_more_share_some():
    labels = [f"m{i}" for i in range(8)]
    styles = assign_styles(["GRPO", "SCAPO", *labels, "base"])
    assert sorted(styles.values()) == list(range(11))
    assert max(assign_styles(map(str, range(30))).values()) < len(SERIES)


def test_many_methods_are_rows_and_each_is_compared_with_grpo_by_seed(ten):
    results = gather(load_runs([ten]))
    styles = assign_styles(results.labels)
    view = results_view(results, styles)
    assert [row["head"]["text"] for row in view["table"]["rows"]] == results.labels
    assert [head["text"] for head in view["table"]["heads"]] == results.suites
    assert view["against"] == "GRPO"
    assert view["how"] == "paired by seed"
    others = [label for label in results.labels if label != "GRPO"]
    assert [row["head"]["text"] for row in view["differences"]["rows"]] == others
    place, suite = others.index("SAPO"), results.suites.index("conflict")
    means = {label: results.cells[label, "conflict"].means() for label in ("SAPO", "GRPO")}
    gain = sum(means["SAPO"][key] - means["GRPO"][key] for key in means["GRPO"]) / 3
    cell = view["differences"]["rows"][place]["cells"][suite]
    assert cell["mean"] == f"{100 * gain:+.1f}".replace("-", "−")
    assert cell["units"] == "3 seeds"


def test_all_sections_list_methods_in_one_order(ten, page):
    order = gather(load_runs([ten])).labels
    assert order[-4:] == ["SCAPO shuffled", "SCAPO counterfactual", "SCAPO all", "80/20"]
    rows = re.findall(r'<th scope="row"><i[^>]*></i>(.*?)</th>', section(page, "comparison"))
    assert rows == order * 2  # cost, and what the credit sees
    assert re.findall(r"<figcaption><svg.*?</svg> <b>(.*?)</b>", page) == order[1:]


def test_few_methods_stay_columns(tmp_path):
    compare_folder(tmp_path, methods=("grpo", "scapo"), seeds=(1, 2))
    results = gather(load_runs([tmp_path]))
    view = results_view(results, assign_styles(results.labels))
    assert [head["text"] for head in view["table"]["heads"]] == ["GRPO", "SCAPO"]
    assert [head["text"] for head in view["differences"]["heads"]] == ["SCAPO − GRPO"]
    html = build_report([tmp_path])
    assert "beside" not in section(html, "training")


def test_findings_of_many_methods_are_one_sentence_a_test_set(ten):
    results = gather(load_runs([ten]))
    found = sentences(results)
    assert [sentence.split(":")[0] for sentence in found] == results.suites
    named = re.findall(r"[+−][\d.]+", found[1])
    counted = sum(int(count) for count in re.findall(r"(\d) of 9", found[1]))
    more = sum(int(count) for count in re.findall(r"and (\d) more", found[1]))
    assert len(named) + counted + more == 9


def test_ten_methods_are_drawn_one_by_one_beside_the_baseline(page):
    alts = re.findall(r'aria-label="(Reward of [^"]*)"', page)
    assert len(alts) == 9
    assert all("; GRPO 0." in alt for alt in alts)
    assert "10 methods compared" in page
    assert len(page.encode()) < 1.5e6


def test_accuracy_over_training_needs_checkpoints_where_methods_are_many(ten, tmp_path):
    base = eval_run(tmp_path / "base", "base", "runs/world/base", {"conflict": 0.3}, problems=6)
    assert "Accuracy on conflict over training" not in build_report([ten, base])
    halfway = str(ten / "grpo" / "seed-1" / "checkpoint-9")
    half = eval_run(tmp_path / "half", "GRPO", halfway, {"conflict": 0.4}, problems=6)
    assert "Accuracy on conflict over training" in build_report([ten, base, half])


def test_the_comparison_holds_only_what_the_results_do_not(page):
    found = section(page, "comparison")
    assert "Accuracy %" not in found
    assert "accuracies are under Results" in found
    assert "Steps to GRPO’s reward" in found
    assert "AUC within a response" in found
    assert "fipo 2, evaluate: exit status 1; &lt;b&gt;no memory&lt;/b&gt;" in found
    assert "scapo compare recipes/world-compare.yaml" in found
    assert "1 of its runs failed" in page


def by_hand(**changes):
    """A comparison of three seeds, without its runs."""
    reward = {"value": 0.75, "stderr": 0.01, "seeds": 3}
    gain = {"value": 0.03, "stderr": 0.005, "seeds": 3, "low": 0.0085, "high": 0.0515}
    grpo = {
        "label": "GRPO",
        "mean": {
            "train/reward": reward,
            "train/mean": reward | {"value": 0.65},
            "average": reward,
            "agree": reward,
        },
        "difference": {},
        "steps_to_baseline": {"seeds": {"1": 30, "2": 34, "3": 32}, "reached": 3, "mean": 32.0},
        "seconds_per_step": {"value": 2.5, "stderr": 0.25, "seeds": 3},
        "curve": [{"step": 1, "value": 0.5, "stderr": 0.01, "seeds": 3}, {"step": 3, "value": 0.75}],
        "credit": {},
    }
    scapo = grpo | {
        "label": "SCAPO",
        "difference": {
            "agree": gain,
            "train/reward": gain | {"value": -0.001},
            "train/mean": gain | {"value": 0.01},
        },
        "steps_to_baseline": {"seeds": {"1": 20, "2": None, "3": 25}, "reached": 2, "mean": 22.5},
        "credit": {
            "shortcut_auc_within": {
                "early": {"value": 0.91234, "stderr": 0.0021, "seeds": 3},
                "curve": [{"step": 1, "value": 0.9, "stderr": 0.01, "seeds": 3}],
            }
        },
    }
    whole = {"kind": "compare", "baseline": "grpo", "seeds": [1, 2, 3], "failures": []}
    return whole | {"results": {"grpo": grpo, "scapo": scapo}} | changes


def test_a_comparison_without_its_runs_is_shown_whole(tmp_path):
    write_json(tmp_path / "compare.json", by_hand())
    found = section(build_report([tmp_path]), "comparison")
    assert "Accuracy %" in found
    # 0.03 ± 4.303 * 0.005, the 97.5 % quantile of t with 2 degrees of freedom
    assert "+3.0 ▲ higher +0.8 to +5.2" in " ".join(
        cells_of(found[found.index("Points against GRPO") :], "SCAPO")
    )
    rows = found[found.index("Final reward %") :]
    assert cells_of(rows, "SCAPO") == [
        "75.0 ± 1.0",
        "−0.1 ≈ within noise −2.3 to +2.1",
        "65.0 ± 1.0",
        "+1.0 ≈ within noise −1.2 to +3.2",
        "22 2 of 3 seeds",
        "2.50 ± 0.25",
    ]
    assert cells_of(rows, "GRPO")[1:5] == ["–", "65.0 ± 1.0", "–", "32 3 of 3 seeds"]
    assert "0.912 ± 0.002" in cells_of(found[found.index("First fifth") :], "SCAPO")
    assert cells_of(found[found.index("First fifth") :], "GRPO") == ["–"]


def test_one_seed_and_older_files_leave_gaps_not_errors(tmp_path):
    lone = {"label": "SAPO", "mean": {"agree": {"value": 0.5, "stderr": None, "seeds": 1}}}
    lost = lone | {"label": "FIPO", "steps_to_baseline": {"seeds": {"1": None}, "mean": None}, "credit": []}
    strange = lone | {
        "label": "<i>",
        "mean": {"agree": "much"},
        "curve": 7,
        "seconds_per_step": {"value": "x"},
    }
    results = {"sapo": lone, "fipo": lost, "odd": strange}
    write_json(tmp_path / "compare.json", by_hand(results=results, settings=None, seeds=None, failures=None))
    found = section(build_report([tmp_path]), "comparison")
    assert "never" in found
    assert "0 of 1 seed<" in found
    assert "&lt;i&gt;" in found
    assert cells_of(found, "SAPO") == ["50.0"]


def test_a_broken_comparison_is_one_sentence(tmp_path):
    write_json(tmp_path / "compare.json", {"results": [1]})
    with pytest.raises(ScapoError, match="'results' must be an object of objects"):
        build_report([tmp_path])


def test_two_comparisons_and_loose_runs_are_kept_apart(tmp_path):
    for name in ("one", "two"):
        compare_folder(tmp_path / name, methods=("grpo", "scapo"), seeds=(1, 2))
    run = train_run(tmp_path / "loose", "GRPO", seed=1)
    eval_run(run / "evaluate", "GRPO", str(run / "model"), {"agree": 0.5}, problems=6)
    runs = load_runs([tmp_path])
    results = gather(runs)
    assert set(results.labels) == {"GRPO", "GRPO (one)", "SCAPO (one)", "GRPO (two)", "SCAPO (two)"}
    assert list(results.cells["GRPO (two)", "agree"].stated) == ["seed 1", "seed 2"]
    assert {run.label for run in runs.train} == set(results.labels)
    html = build_report([tmp_path])
    assert html.count("<h3>one</h3>") == html.count("<h3>two</h3>") == 1
    results.labels += ["x"]  # so that pairs are no longer all pairs
    assert dict(results.pairs())["SCAPO (two)"] == "GRPO (two)"
    assert dict(results.pairs())["x"] == "GRPO"


def test_every_method_of_the_fixture_is_known():
    from scapo.algorithm import methods

    assert set(TEN) <= set(methods.METHODS)
