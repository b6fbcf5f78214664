"""The grid and its tables, with a stand-in for the two commands that writes what they would."""

import json
import math
import sys

import pytest

from scapo.compare import paired_over_seeds, steps_to_reach
from scapo.compare.grid import Cell
from scapo.compare.run import Evaluation, compare, parse_methods, parse_seeds
from scapo.compare.table import compare_runs, final_reward, mean_curve, mean_over_seeds
from scapo.errors import ScapoError
from scapo.files import output_lock

STAND_IN = """
import json, pathlib, sys
here = pathlib.Path(__file__).parent
stage, words = sys.argv[1], sys.argv[2:]
with open(here / "calls.txt", "a") as file:
    file.write(" ".join(sys.argv[1:]) + chr(10))
value = lambda name: words[words.index(name) + 1]
if stage == "train":
    folder, method, seed = pathlib.Path(value("--output")), value("--method.name"), int(value("--trainer.seed"))
    if (here / "broken").exists() and method == "scapo" and seed == 2:
        print("CUDA is not", chr(10), "at home"); sys.exit(3)
    gain = {"grpo": 0, "scapo": 20}[method]
    (folder / "model").mkdir(parents=True, exist_ok=True)
    rows = [{"step": 2 * i + 1, "reward/mean": (i * 10 + gain + seed) / 100, "time/update_s": 2.0} for i in range(5)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + chr(10) for row in rows))
    (folder / "model/config.json").write_text(json.dumps([method, seed]))
else:
    method, seed = json.loads((pathlib.Path(words[0]) / "config.json").read_text())
    accuracy = {"grpo": [0.50, 0.60, 0.70], "scapo": [0.51, 0.63, 0.72]}[method][seed - 1]
    out = pathlib.Path(value("--out")); out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps({"suites": {"world": {"accuracy": accuracy}}}))
"""


@pytest.fixture
def grid(tmp_path):
    """Call the comparison of grpo and scapo; `grid.calls()` are the commands that ran."""
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        "{model: m, train: {path: d.jsonl}, rollout: {prompts: 2}, trainer: {max_steps: 4, bf16: false}}"
    )
    program = tmp_path / "stand_in.py"
    program.write_text(STAND_IN)

    def run(methods=("grpo", "scapo"), seeds=(1, 2, 3), suites=("world",), **changes):
        return compare(
            recipe, methods, seeds, tmp_path / "out", Evaluation(suites=suites, data=["world=w"], samples=4),
            program=(sys.executable, str(program)), **changes,
        )  # fmt: skip

    run.calls = lambda: (tmp_path / "calls.txt").read_text().splitlines()
    run.folder, run.recipe = tmp_path, recipe
    return run


def test_means_and_paired_differences_over_seeds(grid):
    content = grid(jobs=2)
    grpo, scapo = content["results"]["grpo"], content["results"]["scapo"]
    # grpo 0.50 0.60 0.70: sd 0.1, error 0.1 / sqrt(3); gains 0.01 0.03 0.02: mean 0.02, sd 0.01
    assert grpo["mean"]["world"]["value"] == pytest.approx(0.6)
    assert grpo["mean"]["world"]["stderr"] == pytest.approx(0.1 / math.sqrt(3))
    gain = scapo["difference"]["world"]
    assert gain["value"] == pytest.approx(0.02)
    assert gain["stderr"] == pytest.approx(0.01 / math.sqrt(3))
    assert gain["high"] - gain["value"] == pytest.approx(4.302653 * 0.01 / math.sqrt(3), rel=1e-5)  # t, 2 df
    assert grpo["difference"] == {}
    # five rollouts: the last one is the final tenth, 0.40 + seed / 100 for grpo at step 9
    assert grpo["seeds"]["2"]["train/reward"] == pytest.approx(0.42)
    # 0.00 0.10 0.20 0.30 0.40, each + 2 / 100
    assert grpo["seeds"]["2"]["train/mean"] == pytest.approx(0.22)
    # scapo stands at 0.20 + 0.1 i + seed / 100: level with it at i = 2, step 5
    assert scapo["steps_to_baseline"] == {"seeds": {"1": 5, "2": 5, "3": 5}, "reached": 3, "mean": 5}
    assert grpo["steps_to_baseline"]["mean"] == 9
    assert grpo["seconds_per_step"]["value"] == 2.0
    assert [point["step"] for point in grpo["curve"]] == [1, 3, 5, 7, 9]
    assert json.loads((grid.folder / "out" / "compare.json").read_text()) == content


def test_finished_cells_are_never_run_again_and_new_ones_join(grid):
    grid(seeds=(1,))
    assert len(grid.calls()) == 4
    grid(seeds=(1, 2))
    assert len(grid.calls()) == 8
    grid(seeds=(1, 2))
    assert len(grid.calls()) == 8
    train = next(call for call in grid.calls() if call.startswith("train"))
    assert "--resume" in train
    assert sum("--samples 4" in call for call in grid.calls()) == 4


def test_a_failed_run_is_named_with_the_end_of_its_log_and_tried_again(grid, capsys):
    (grid.folder / "broken").touch()
    content = grid()
    (failure,) = content["failures"]
    assert (failure["method"], failure["seed"], failure["stage"]) == ("scapo", 2, "train")
    assert "exit status 3" in failure["message"]
    assert "CUDA is not / at home" in failure["message"]
    assert "FAILED scapo seed 2, train" in capsys.readouterr().out
    assert content["results"]["scapo"]["difference"]["world"]["seeds"] == 2
    before = len(grid.calls())
    (grid.folder / "broken").unlink()
    assert grid()["failures"] == []
    assert len(grid.calls()) == before + 2


def test_a_stop_ends_the_runs_starts_no_more_and_the_next_call_goes_on(grid):
    """The third run waits for ever; a terminate signal arrives while it does."""
    program = grid.folder / "stand_in.py"
    whole = program.read_text()
    program.write_text(
        whole + "\nimport os, signal, time"
        "\nif len((here / 'calls.txt').read_text().splitlines()) == 3:"
        "\n    os.kill(os.getppid(), signal.SIGTERM); time.sleep(60)\n"
    )
    with pytest.raises(ScapoError, match=r"interrupted\. The same command again"):
        grid(seeds=(1, 2), jobs=1)
    assert len(grid.calls()) == 3
    program.write_text(whole)
    assert grid(seeds=(1, 2))["failures"] == []
    assert len(grid.calls()) == 9  # two were finished; the stopped one ran again


def test_all_failed_is_an_error(grid):
    (grid.folder / "broken").touch()
    with pytest.raises(ScapoError, match="Every run failed; the first: exit status 3"):
        grid(methods=("scapo",), seeds=(2,))


def test_other_settings_in_the_same_folder_are_refused(grid):
    grid(seeds=(1,))
    with pytest.raises(ScapoError, match=r"with other settings.*Choose another -o"):
        grid(seeds=(1,), train_words=["--trainer.max_steps", "6"])
    grid.recipe.write_text(grid.recipe.read_text() + "\n# changed\n")
    with pytest.raises(ScapoError, match="by another recipe"):
        grid(seeds=(1,))


def test_what_can_t_be_trained_is_refused_before_anything_runs(grid):
    with pytest.raises(ScapoError, match=r"no setting `method\.lamda_0`"):
        grid(train_words=["--method.lamda_0", "1"])
    with pytest.raises(ScapoError, match="use --methods and --seeds"):
        grid(train_words=["--trainer.seed=3"])
    with pytest.raises(ScapoError, match="--jobs is 0"):
        grid(jobs=0)
    assert not (grid.folder / "calls.txt").exists()


def test_without_suites_only_training_is_compared(grid):
    content = grid(suites=())
    assert list(content["results"]["scapo"]["difference"]) == ["train/reward", "train/mean"]
    assert all(call.startswith("train") for call in grid.calls())


def test_one_seed_has_no_error_and_no_interval():
    assert mean_over_seeds([0.5]) == {"value": 0.5, "stderr": None, "seeds": 1}
    assert paired_over_seeds({1: 0.5}, {1: 0.25}) == {
        **{"value": 0.25, "stderr": None, "seeds": 1},
        **{"low": None, "high": None},
    }
    assert paired_over_seeds({1: 0.5}, {2: 0.25}) is None


def test_steps_to_reach_uses_a_running_mean_of_a_tenth():
    curve = [(i, float(i == 3)) for i in range(1, 21)]  # a single lucky step of twenty: width 2, mean 0.5
    assert steps_to_reach(curve, 0.5) == 3
    assert steps_to_reach(curve, 0.6) is None
    assert final_reward(curve) == 0.0
    assert steps_to_reach([(1, 0.0), (3, 0.4)], 0.4) == 3


def test_a_curve_s_error_counts_the_seeds_that_got_that_far():
    points = mean_curve([[(1, 0.0), (3, 1.0)], [(1, 0.5)]])
    assert [(p["step"], p["value"], p["seeds"]) for p in points] == [(1, 0.25, 2), (3, 1.0, 1)]
    assert points[1]["stderr"] is None


def test_names_and_seeds():
    assert parse_seeds("3") == (1, 2, 3)
    assert parse_seeds("1,4,9") == (1, 4, 9)
    assert parse_seeds("7,") == (7,)
    assert parse_methods("grpo, scapo") == ("grpo", "scapo")
    for text in ("", "x", "0", "1,1", "-2"):
        with pytest.raises(ScapoError, match="--seeds is"):
            parse_seeds(text)
    with pytest.raises(ScapoError, match="There is no method 'ppo'"):
        parse_methods("grpo,ppo")
    with pytest.raises(ScapoError, match="each name once"):
        parse_methods("grpo,grpo")


def _world_cell(folder, method, seed, auc, accuracies):
    """A finished training of ten steps (a rollout each second one) on the embedded world."""
    (folder / "evaluate").mkdir(parents=True)
    rows = [
        {"step": 2 * i + 1, "reward/mean": 0.5, "credit/shortcut_auc": value} for i, value in enumerate(auc)
    ]
    rows = [one for row in rows for one in (row, {"step": row["step"] + 1})]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    suites = {name: {"accuracy": value} for name, value in accuracies.items()}
    (folder / "evaluate" / "results.json").write_text(json.dumps({"suites": suites}))
    return Cell(method=method, seed=seed, folder=folder, stages={"evaluate": ()}, recipe_sha256="")


def test_the_average_is_over_test_sets_and_the_credit_is_judged_early(tmp_path):
    first = _world_cell(tmp_path / "1", "grpo", 1, [0.9, 0.5, 0.5, 0.5, 0.1], {"a": 0.2, "b": 0.4})
    second = _world_cell(tmp_path / "2", "grpo", 2, [0.7, 0.5, 0.5, 0.5, 0.3], {"a": 0.4, "b": 0.8})
    found = compare_runs([first, second], "grpo", {"grpo": "GRPO"})["grpo"]
    assert found["seeds"]["1"] == pytest.approx(
        {"a": 0.2, "b": 0.4, "average": 0.3, "train/reward": 0.5, "train/mean": 0.5}
    )
    assert found["mean"]["average"]["value"] == pytest.approx(0.45)  # of 0.3 and 0.6
    credit = found["credit"]["shortcut_auc"]
    assert credit["seeds"] == {"1": 0.9, "2": 0.7}  # a fifth of ten steps: only the rollout at step 1
    assert credit["early"]["value"] == pytest.approx(0.8)
    assert credit["curve"][-1]["value"] == pytest.approx(0.2)
    assert set(found["credit"]) == {"shortcut_auc"}


def test_a_second_comparison_in_one_folder_is_refused(grid):
    with output_lock(grid.folder / "out"), pytest.raises(ScapoError, match="out is being written by another"):
        grid()
    assert not (grid.folder / "calls.txt").exists()
