"""The journal: durable, keyed by what was asked, mended after a kill, held by one process."""

import json
import subprocess
import sys

import pytest

from scapo.errors import ScapoError
from scapo.files import output_lock
from scapo.perturb.journal import Call, Journal, Key, Result, compact, problem_hash
from scapo.perturb.kinds import Kind
from scapo.problems import Problem

KEY = Key("hash", Kind.PARAPHRASE, "prompt-1", "model")
MADE = Result(status="made", text="Say \\frac{1}{2}\u2028 twice", provenance={"generator": "llm"})
REFUSED = Result(status="refused", text="no", reason="numbers: 7 became 8", final=False)


def test_a_written_result_is_read_back_also_by_the_next_process(tmp_path):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.write([(KEY, REFUSED), (KEY, MADE)], sync=True)
        assert journal.get(KEY) == MADE
    with Journal(path) as journal:
        assert journal.get(KEY) == MADE
        assert journal.finished(KEY)


def test_a_refusal_to_be_asked_again_is_kept_but_not_finished(tmp_path):
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.write([(KEY, REFUSED)], sync=True)
        assert journal.get(KEY) == REFUSED
        assert not journal.finished(KEY)


@pytest.mark.parametrize(
    "other",
    [
        Key("other", KEY.kind, KEY.version, KEY.model),
        Key(KEY.problem, Kind.TYPO_NOISE, KEY.version, KEY.model),
        Key(KEY.problem, KEY.kind, "prompt-2", KEY.model),
        Key(KEY.problem, KEY.kind, KEY.version, "other"),
    ],
)
def test_each_part_of_the_key_counts(tmp_path, other):
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.write([(KEY, MADE)], sync=True)
        assert journal.get(other) is None
        assert not journal.finished(other)


def test_every_cut_of_the_last_line_loses_that_line_only(tmp_path):
    path = tmp_path / "journal.jsonl"
    second = Key("second", KEY.kind, KEY.version, KEY.model)
    with Journal(path) as journal:
        journal.write([(KEY, MADE), (second, MADE)], sync=True)
    whole = path.read_bytes()
    first_line = whole.index(b"\n") + 1
    for cut in range(first_line, len(whole), 7):
        path.write_bytes(whole[:cut])
        with Journal(path) as journal:
            assert journal.get(KEY) == MADE
            assert journal.get(second) is None
            journal.write([(second, REFUSED)], sync=True)
            assert journal.get(second) == REFUSED


def test_a_foreign_line_is_named(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text('{"record": "result", "kind": "poem"}\n')
    with pytest.raises(ScapoError, match=r"journal\.jsonl, line 1: not a journal record"):
        Journal(path)


def test_calls_add_up_over_processes(tmp_path):
    path = tmp_path / "journal.jsonl"
    for _ in range(2):
        with Journal(path) as journal:
            ok = Call(status="ok", tokens_in=10, tokens_out=5, cost=0.25)
            journal.write([ok, Call(status="timeout")], sync=True)
    with Journal(path) as journal:
        assert journal.calls == {"ok": 2, "timeout": 2}
        assert (journal.tokens_in, journal.tokens_out, journal.cost) == (20, 10, 0.5)


def test_compacting_keeps_last_results_and_sums(tmp_path):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.write(
            [(KEY, REFUSED), Call(status="ok", tokens_in=1), Call(status="ok", tokens_in=2)], sync=True
        )
        journal.write([(KEY, MADE)], sync=True)
    assert compact(path) == (4, 2)
    with Journal(path) as journal:
        assert journal.get(KEY) == MADE
        assert journal.calls == {"ok": 2}
        assert journal.tokens_in == 3


def test_the_hash_follows_text_and_answer_not_the_id():
    assert problem_hash(Problem("a", "text", "1")) == problem_hash(Problem("b", "text", "1"))
    assert problem_hash(Problem("a", "text", "1")) != problem_hash(Problem("a", "text", "2"))
    assert problem_hash(Problem("a", "text", "1")) != problem_hash(Problem("a", "text\0", "1"))


def test_a_second_process_on_one_output_is_refused_with_a_sentence(tmp_path):
    out = tmp_path / "out.jsonl"
    script = (
        "import sys; from pathlib import Path; from scapo.files import output_lock\n"
        "with output_lock(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(out)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ScapoError, match=r"out\.jsonl is being written by"), output_lock(out):
            pass
    finally:
        holder.kill()
        holder.wait()
    with output_lock(out):  # a killed holder leaves nothing to clean up
        pass


def test_lines_are_plain_json(tmp_path):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.write([(KEY, MADE)], sync=True)
    row = json.loads(path.read_text())
    assert row["problem"] == "hash"
    assert row["kind"] == "paraphrase"
