"""The hub: the file survives the way there and back; offline is a sentence."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from scapo.errors import ScapoError
from scapo.files import read_jsonl, write_jsonl
from scapo.perturb.hub import card_text, from_dataset, pull, push, to_dataset
from scapo.perturb.kinds import SEMIFACTUAL, Kind
from scapo.perturb.run import run_rules
from scapo.problems import Problem

PROBLEMS = [
    Problem(
        "a",
        "Tom has 3 apples and buys 4 more at the market. How many apples does he have now?",
        "7",
        {"n": 1},
    ),
    Problem("b", "$x^2$", "4", {"n": 2}),
]


@pytest.fixture
def out(tmp_path):
    run_rules(PROBLEMS, tmp_path / "out.jsonl", kinds=list(SEMIFACTUAL), seed=0)
    return tmp_path / "out.jsonl"


def test_rows_survive_parquet(out, tmp_path):
    rows = [row for _, row in read_jsonl(out)]
    to_dataset(rows).to_parquet(tmp_path / "x.parquet")
    from datasets import Dataset

    assert (
        from_dataset(Dataset.from_parquet(str(tmp_path / "x.parquet"), cache_dir=str(tmp_path)), "me/x")
        == rows
    )


def test_a_set_without_our_columns_is_refused():
    from datasets import Dataset

    with pytest.raises(ScapoError, match="no absent, perturbations, provenance"):
        from_dataset(Dataset.from_dict({"problem": ["a"]}), "me/x")


def test_the_card_counts_kinds_and_makers(out):
    text = card_text([row for _, row in read_jsonl(out)], "me/rewrites")
    assert text.startswith("# rewrites\n\n2 problems")
    assert "| typo_noise | 1 | 1 | 0 |" in text
    assert "| rules 1 |" in text or "| rules " in text
    assert "counterfactual | 0 | 0 | 0" in text


@pytest.mark.parametrize("call", [lambda out: push(out, "me/x"), lambda out: pull("me/x", out)])
def test_offline_it_says_so_in_a_sentence(out, call, monkeypatch):
    import datasets.config
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    before = out.read_bytes()
    with pytest.raises(ScapoError, match=r"hub (could not be used for me/x|needs a token)"):
        call(out)
    assert out.read_bytes() == before


def test_a_file_of_something_else_is_not_pushed(tmp_path):
    write_jsonl(tmp_path / "x.jsonl", [{"problem": "a"}])
    with pytest.raises(ScapoError, match="holds no rows written by"):
        push(tmp_path / "x.jsonl", "me/x")


def test_a_push_writes_the_data_then_the_card(out, monkeypatch):
    import datasets
    import huggingface_hub

    done = []

    class Card:
        def __init__(self):
            self.data, self.text = type("Data", (), {})(), ""

        load = classmethod(lambda cls, name: cls())

        def push_to_hub(self, name):
            done.append(("card", name, self.text))

    monkeypatch.setattr(huggingface_hub.HfApi, "whoami", lambda self: {"name": "me"})
    monkeypatch.setattr(huggingface_hub, "DatasetCard", Card)
    monkeypatch.setattr(
        datasets.Dataset,
        "push_to_hub",
        lambda self, name, private: done.append(("data", name, self.num_rows, private)),
    )
    assert push(out, "me/rewrites") == "https://huggingface.co/datasets/me/rewrites"
    assert done[0] == ("data", "me/rewrites", 2, True)
    assert done[1][:2] == ("card", "me/rewrites")
    assert "2 problems" in done[1][2]


@pytest.fixture
def hub(tmp_path):
    """The environment for a hub on loopback, empty at first."""
    script = Path(__file__).with_name("fake_hub.py")
    with (tmp_path / "hub.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=log, text=True
        )
    try:
        address = server.stdout.readline().strip()
        options = {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_DISABLE_XET": "1"}
        yield {
            **os.environ,
            **options,
            "HF_TOKEN": "hf_test",
            "HF_HUB_OFFLINE": "0",
            "HF_DATASETS_OFFLINE": "0",
        }
    finally:
        server.kill()
        server.communicate()


def perturb(hub, *words):
    command = [sys.executable, "-m", "scapo.cli", "perturb", *map(str, words)]
    return subprocess.run(command, env=hub, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_the_real_libraries_push_to_a_hub_and_pull_the_same_bytes_back(out, tmp_path, hub):
    for _ in range(2):  # the second push updates the set
        pushed = perturb(hub, "-o", out, "--push-to", "me/rewrites")
        assert f"Pushed: {hub['HF_ENDPOINT']}/datasets/me/rewrites" in pushed.stderr
    headers = {"Authorization": "Bearer hf_test"}
    base = f"{hub['HF_ENDPOINT']}/{{}}me/rewrites{{}}"

    def get(before, after):
        request = urllib.request.Request(base.format(before, after), headers=headers)
        return urllib.request.urlopen(request, timeout=10).read().decode()

    assert json.loads(get("api/datasets/", ""))["private"] is True
    card = get("datasets/", "/resolve/main/README.md")
    assert "- semifactual" in card
    assert "path: data/train-*" in card  # what the push of the data wrote is kept
    assert "2 problems with answer-preserving rewrites" in card
    assert (
        "2 rows written" in perturb(hub, "-o", tmp_path / "back.jsonl", "--pull-from", "me/rewrites").stderr
    )
    assert (tmp_path / "back.jsonl").read_bytes() == out.read_bytes()


@pytest.mark.slow
def test_a_hub_that_refuses_the_token_or_lacks_the_set_is_a_sentence(out, tmp_path, hub):
    before = out.read_bytes()
    refused = perturb({**hub, "HF_TOKEN": "hf_wrong"}, "-o", out, "--push-to", "me/rewrites")
    missing = perturb(hub, "-o", out, "--pull-from", "me/nothing")
    for ended in (refused, missing):
        assert ended.returncode != 0
        assert "The hub could not be used for me/" in ended.stderr
        assert "Traceback" not in ended.stderr
    assert out.read_bytes() == before


def test_kinds_never_asked_for_are_null_in_the_set_and_absent_in_the_file(out):
    rows = [row for _, row in read_jsonl(out)]
    data = to_dataset(rows)
    assert data[0]["perturbations"][Kind.COUNTERFACTUAL] is None
    assert json.loads(data[0]["absent"]) == rows[0]["absent"]
