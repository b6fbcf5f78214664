"""The snippet of docs/train.md, run exactly as it stands there."""

import json
import re
import shutil
from pathlib import Path

import pytest

DOC = Path(__file__).parents[2] / "docs/train.md"


def snippet():
    """The changed program, and how many lines of the old one were replaced."""
    block = re.search(r"```diff\n(.*?)```", DOC.read_text(), re.DOTALL).group(1).splitlines()
    assert {line[:1] for line in block} <= {"+", "-", " ", ""}
    return "\n".join(line[1:] for line in block if line[:1] != "-"), sum(line[:1] == "-" for line in block)


@pytest.mark.parametrize("with_problem", [True, False])
def test_a_trl_user_changes_few_lines(tiny_folder, rows, tmp_path, monkeypatch, with_problem):
    code, changed = snippet()
    assert changed <= 5
    for row in rows:
        if not with_problem:  # then a rewrite is the whole message
            asked = row["prompt"][0]["content"]
            row["perturbations"] = {
                k: asked.replace(row["problem"], v) for k, v in row["perturbations"].items()
            }
            del row["problem"]
    rows[0]["perturbations"].pop("paraphrase")
    (tmp_path / "train.perturbed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    shutil.copytree(tiny_folder, tmp_path / "path/to/model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    exec(compile(code, str(DOC), "exec"), {})
    metrics = [json.loads(line) for line in Path("run/metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in metrics] == [1, 2]
    assert all(row["drift/mean"] > 0 for row in metrics)
    assert metrics[0]["reward/reason/no_box"] > 0
