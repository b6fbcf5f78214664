"""Many evaluations become one table: replicates, pooling, leaders, comparisons."""

import pytest
from made_runs import eval_run, train_run

from scapo.files import write_json
from scapo.report.cells import Cell
from scapo.report.pass_view import pass_curve
from scapo.report.read import read_object
from scapo.report.results import gather, sort_labels
from scapo.report.runs import load_runs


def gathered(*paths):
    return gather(load_runs(paths))


def test_labels_follow_the_papers_order_then_appearance():
    assert sort_labels(["SCAPO", "mine", "GRPO", "base", "GRPO"]) == ["base", "GRPO", "SCAPO", "mine"]


def test_a_second_sampling_seed_of_the_same_model_adds_samples(tmp_path):
    one = eval_run(tmp_path / "one", "base", "m", {"agree": 0.6}, problems=30, samples=2, seed=0)
    two = eval_run(tmp_path / "two", "base", "m", {"agree": 0.6}, problems=30, samples=3, seed=1)
    cell = gathered(one, two).cells["base", "agree"]
    assert cell.samples() == 5
    assert (cell.estimate().units, cell.estimate().unit) == (30, "problems")
    assert cell.sampling_seeds() == "0, 1"


def test_the_same_evaluation_twice_is_not_twice_the_evidence(tmp_path):
    one = eval_run(tmp_path / "one", "base", "m", {"agree": 0.6}, problems=30)
    two = eval_run(tmp_path / "two", "base", "m", {"agree": 0.6}, problems=30)
    results = gathered(one, two)
    assert results.cells["base", "agree"].samples() == 4
    assert "left out" in results.notes[0]


def trained_seeds(folder, label, chance, seeds=(0, 1, 2)):
    """Three trainings of one method and the evaluation of each; all evaluations use sampling seed 0."""
    paths = []
    for seed in seeds:
        paths.append(train_run(folder / f"{label}-{seed}", label, seed=seed, steps=5))
        model = str(paths[-1] / "model")
        chances = {"agree": chance + 0.01 * seed}
        paths.append(eval_run(folder / f"eval-{label}-{seed}", label, model, chances, problems=40))
    return paths


def test_training_seeds_are_replicates_compared_seed_by_seed(tmp_path):
    results = gathered(*trained_seeds(tmp_path, "GRPO", 0.3), *trained_seeds(tmp_path, "SCAPO", 0.8))
    cell = results.cells["SCAPO", "agree"]
    assert (cell.estimate().units, cell.estimate().unit) == (3, "seeds")
    found = results.difference("SCAPO", "GRPO", "agree")
    assert found.how == "paired by seed"
    grpo = results.cells["GRPO", "agree"].means()
    expected = sum(cell.means()[seed] - grpo[seed] for seed in grpo) / 3
    assert found.estimate.mean == pytest.approx(expected)
    assert results.leaders("agree") == ["SCAPO"]


def test_training_seeds_are_found_beside_the_model_when_the_training_is_not_in_the_report(tmp_path):
    evaluations = [path for path in trained_seeds(tmp_path, "GRPO", 0.5) if "eval" in path.name]
    assert gathered(*evaluations).cells["GRPO", "agree"].estimate().unit == "seeds"


def test_unlike_models_under_one_label_are_kept_apart(tmp_path):
    one = eval_run(tmp_path / "one", "model", "a/model", {"agree": 0.6}, problems=30)
    two = eval_run(tmp_path / "two", "model", "b/model", {"agree": 0.6}, problems=30)
    assert gathered(one, two).labels == ["model", "model (two)"]


def test_of_several_checkpoints_only_the_last_is_a_result(tmp_path):
    run = train_run(tmp_path / "grpo", "GRPO", steps=20)
    early = eval_run(tmp_path / "e10", "GRPO", str(run / "checkpoint-10"), {"agree": 0.1}, problems=30)
    late = eval_run(tmp_path / "e20", "GRPO", str(run / "checkpoint-20"), {"agree": 0.9}, problems=30)
    results = gathered(run, early, late)
    assert results.labels == ["GRPO"]
    assert results.cells["GRPO", "agree"].estimate().mean > 0.7


def test_evaluations_with_shared_problems_are_paired_by_problem(tmp_path):
    one = eval_run(tmp_path / "one", "base", "a", {"agree": 0.5}, problems=50)
    two = eval_run(tmp_path / "two", "GRPO", "b", {"agree": 0.5}, problems=50)
    found = gathered(one, two).difference("GRPO", "base", "agree")
    assert (found.how, found.estimate.units) == ("paired by problem", 50)


def test_without_samples_the_stated_error_is_used_unpaired(tmp_path):
    one = eval_run(tmp_path / "one", "base", "a", {"agree": 0.5}, problems=50, keep_samples=False)
    two = eval_run(tmp_path / "two", "GRPO", "b", {"agree": 0.5}, problems=50, keep_samples=False)
    found = gathered(one, two).difference("GRPO", "base", "agree")
    assert found.how == "unpaired"
    assert found.estimate.stderr == pytest.approx(0.02 * 2**0.5)


def test_leaders_are_all_that_the_best_does_not_beat_beyond_noise(tmp_path):
    paths = [
        eval_run(tmp_path / label, label, label, {"agree": chance}, problems=100)
        for label, chance in {"base": 0.3, "GRPO": 0.7, "SCAPO": 0.71}.items()
    ]
    results = gathered(*paths)
    assert results.leaders("agree") == ["GRPO", "SCAPO"]
    assert results.leaders("absent suite") == []


def test_many_methods_are_each_compared_with_grpo(tmp_path):
    paths = [
        eval_run(tmp_path / m, m, m, {"agree": 0.5}, problems=10) for m in ("base", "GRPO", "GSPO", "SCAPO")
    ]
    assert gathered(*paths).pairs() == [("base", "GRPO"), ("GSPO", "GRPO"), ("SCAPO", "GRPO")]


def test_a_family_of_sets_pools_their_problems(tmp_path):
    one = eval_run(tmp_path / "one", "base", "a", {"agree": 0.8, "conflict": 0.2}, problems=40)
    two = eval_run(tmp_path / "two", "GRPO", "b", {"agree": 0.8, "conflict": 0.6}, problems=40)
    results = gathered(one, two)
    assert results.suites == ["agree", "conflict", "all World"]
    cell = results.cells["GRPO", "all World"]
    assert cell.estimate().units == 80
    each = [results.cells["GRPO", suite].estimate().mean for suite in ("agree", "conflict")]
    assert cell.estimate().mean == pytest.approx(sum(each) / 2)
    found = results.difference("GRPO", "base", "all World")
    assert (found.how, found.estimate.units) == ("paired by problem", 80)


def test_one_set_has_no_aggregate(tmp_path):
    assert gathered(eval_run(tmp_path / "one", "base", "a", {"agree": 0.8}, problems=5)).suites == ["agree"]


def test_an_average_of_families_is_taken_as_stated(tmp_path):
    run = eval_run(tmp_path / "one", "base", "a", {"agree": 0.8, "conflict": 0.2}, problems=5)
    results = read_object(run / "results.json")
    results["aggregates"] = {
        "in-distribution average": {"sets": 2, "problems": 10, "accuracy": 0.4, "stderr": 0.1}
    }
    write_json(run / "results.json", results)
    found = gathered(run).cells["base", "in-distribution average"].estimate()
    assert (found.mean, found.stderr) == (0.4, 0.1)


def test_pass_curves_are_averaged_over_trained_models_where_all_have_k():
    one = {"pass_at_k": {"1": {"value": 0.2, "low": 0.1, "high": 0.3}, "2": {"value": 0.4}}}
    two = {"pass_at_k": {"1": {"value": 0.4}}}
    assert pass_curve(Cell(stated={"a": one})) == {1: (0.2, 0.1, 0.3), 2: (0.4, None, None)}
    assert pass_curve(Cell(stated={"a": one, "b": two})) == {1: (pytest.approx(0.3), None, None)}
    assert pass_curve(Cell(stated={"a": {"pass_at_k": [1]}})) == {}
