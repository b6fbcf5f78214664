"""`scapo perturb --generator llm` and its neighbours from the command line."""

import pytest
import typer
from scripted_endpoint import apples, good_answer, serving
from typer.testing import CliRunner

from scapo.errors import ScapoError
from scapo.files import read_jsonl, write_jsonl
from scapo.perturb.command import perturb
from scapo.perturb.journal import journal_path

ENVIRONMENT = {"COLUMNS": "160", "SCAPO_LLM_API_KEY": "sk-secret", "SCAPO_LLM_MODEL": "from-env"}


@pytest.fixture
def cli():
    app = typer.Typer()
    app.command()(perturb)

    def run(*args, **environment):
        return CliRunner().invoke(app, [str(arg) for arg in args], env=ENVIRONMENT | environment)

    return run


@pytest.fixture
def source(tmp_path):
    rows = [{"id": str(n), "problem": apples(n + 10), "answer": str(n + 14)} for n in range(3)]
    write_jsonl(tmp_path / "in.jsonl", rows)
    return tmp_path / "in.jsonl"


def said(done):
    assert isinstance(done.exception, ScapoError), done.output
    return str(done.exception)


def test_settings_come_from_flags_and_environment_and_tables_end_the_run(cli, source, tmp_path):
    out = tmp_path / "out.jsonl"
    with serving(lambda body, n: good_answer(body)) as server:
        done = cli(source, "-o", out, "--generator", "llm", "--price-in", 1, SCAPO_LLM_BASE_URL=server.url)
    assert done.exit_code == 0, done.output
    assert {body["model"] for body in server.requests} == {"from-env"}
    assert "3 requests, 300 tokens in, 150 out, $0.0003" in done.output
    assert "llm 3" in done.output
    assert "sk-secret" not in done.output
    assert all(len(row["perturbations"]) == 4 for _, row in read_jsonl(out))


def test_a_stopped_run_says_why_and_still_shows_its_requests(cli, source, tmp_path):
    with serving(lambda body, n: good_answer(body)) as server:
        flags = ("--generator", "llm", "--base-url", server.url, "--max-requests", 1)
        done = cli(source, "-o", tmp_path / "out.jsonl", *flags)
    assert "--max-requests 1 is reached" in said(done)
    assert "4 of 12 rewrites are finished" in said(done)
    assert "1 requests" in done.output


def test_the_journal_can_be_compacted(cli, source, tmp_path):
    out = tmp_path / "out.jsonl"
    with serving(lambda body, n: good_answer(body)) as server:
        cli(source, "-o", out, "--generator", "llm", "--base-url", server.url)
        before = out.read_bytes()
        done = cli("--compact", "-o", out)
        assert "15 lines became 13" in done.output  # three requests become one sum
        cli(source, "-o", out, "--generator", "llm", "--base-url", server.url)
        assert server.count == 3
    assert out.read_bytes() == before
    assert journal_path(out).is_file()


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["in.jsonl"], "No output is named"),
        (["-o", "out.jsonl"], "No input is named"),
        (["-o", "out.jsonl", "--compact"], "no journal to compact"),
        (["in.jsonl", "-o", "out.jsonl", "--generator", "poet"], "--generator poet is unknown"),
        (["in.jsonl", "-o", "out.jsonl", "--generator", "llm", "--model", ""], "No model is named"),
        (["in.jsonl", "-o", "out.jsonl", "--generator", "llm", "--max-cost", "1"], "--price-in"),
        (["in.jsonl", "-o", "out.jsonl", "--generator", "llm", "--prompt-file", "none.md"], "can't be read"),
        (["--inspect", "none.jsonl"], "is not a file"),
    ],
)
def test_what_cannot_work_is_a_sentence(cli, source, tmp_path, monkeypatch, args, sentence):
    monkeypatch.chdir(tmp_path)
    assert sentence in said(cli(*args))
    assert not (tmp_path / "out.jsonl").exists()
