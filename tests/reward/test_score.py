"""The reward's contract: one score each, in order, with a reason; the same wherever and however it is called."""

import asyncio
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from scapo.reward import Reason, boxed_reward, score, score_batch
from scapo.reward.score import MAX_BOX_LENGTH

HARD = (r"\boxed{\frac{2x}{4}}", r"\frac{x}{2}")  # only algebra can tell that this is right


def test_every_given_case_is_scored_as_expected(shared):
    cases = [
        json.loads(line) for line in (shared / "cases" / "answer_verification.jsonl").open(encoding="utf-8")
    ]
    scores = score_batch([case["completion"] for case in cases], [case["gold"] for case in cases])
    wrong = [(c["id"], s.reason) for c, s in zip(cases, scores, strict=True) if s.value != c["expected"]]
    assert len(cases) == 43
    assert not wrong


def test_a_mixed_batch_keeps_length_and_order():
    completions = [
        r"\boxed{1}",
        "nothing",
        HARD[0],
        r"\boxed{}",
        r"\boxed{\frac{}",
        r"\boxed{x^}",
        r"\boxed{9}",
    ]
    golds = ["1", "2", HARD[1], "4", "5", "x^2", "8"]
    assert [s.reason for s in score_batch(completions, golds)] == [
        Reason.CORRECT, Reason.NO_BOX, Reason.CORRECT, Reason.UNPARSEABLE, Reason.NO_BOX, Reason.UNPARSEABLE, Reason.WRONG,
    ]  # fmt: skip


def test_only_correct_has_value_one_and_what_was_in_the_box_is_told():
    right, wrong, none = score_batch([r"\boxed{ 42 }", r"\boxed{41}", "42"], ["42"] * 3)
    assert right == (1.0, Reason.CORRECT, "42")
    assert wrong == (0.0, Reason.WRONG, "41")
    assert none == (0.0, Reason.NO_BOX, None)


@pytest.mark.parametrize(
    "gold",
    [
        "",
        "  ",
        "see figure",
        "The answer is shown below",
        r"\frac{5055}{2^{15}",
        "\x0crac{7}{12}",
        "We get " + "x+" * 200,
    ],
)
def test_a_gold_that_cannot_be_verified_never_scores(gold):
    for completion in (rf"\boxed{{{gold}}}", r"\boxed{}", "", r"\boxed{7}"):
        assert score(completion, gold)[:2] == (0.0, Reason.GOLD_UNPARSEABLE)


def test_a_short_sentence_around_a_box_counts_as_the_box():
    assert score(r"\boxed{6}", r"The number of colorings of \( P \) is \(\boxed{6}\).").value == 1.0


def test_the_prompt_is_not_read():
    assert boxed_reward(completions=[""], answer=["7"], prompts=[r"put it within \boxed{7}"]) == [0.0]


def test_a_box_far_too_long_is_not_parsed():
    assert score("\\boxed{1" + "+1" * MAX_BOX_LENGTH + "}", "1").reason is Reason.TOO_LONG
    assert len(score("\\boxed{1" + "+1" * MAX_BOX_LENGTH + "}", "1").extracted) == MAX_BOX_LENGTH


def test_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match="2 completions but 1 golds"):
        score_batch(["a", "b"], ["1"])


def test_trl_calls_it_with_chats_and_further_columns_and_loggers():
    columns, metrics = {}, {}
    rewards = boxed_reward(
        prompts=[[{"role": "user", "content": "?"}]] * 3,
        completions=[
            [{"role": "assistant", "content": r"\boxed{3}"}],
            [
                {
                    "role": "assistant",
                    "content": [{"type": "text", "text": r"\boxed"}, {"type": "text", "text": "{3}"}],
                }
            ],
            r"\boxed{4}",
        ],
        answer=["3", "3", "3"],
        perturbations=[{}] * 3,
        completion_ids=[[1]] * 3,
        trainer_state=None,
        log_extra=columns.__setitem__,
        log_metric=metrics.__setitem__,
    )
    assert rewards == [1.0, 1.0, 0.0]
    assert columns == {"reason": ["correct", "correct", "wrong"], "extracted": ["3", "3", "4"]}
    assert metrics["reward/reason/correct"] == pytest.approx(2 / 3)
    assert set(metrics) == {f"reward/reason/{reason}" for reason in Reason}


def test_odd_completions_score_zero():
    assert (
        boxed_reward(completions=[None, [], [{"role": "assistant", "content": None}]], answer=["1", "2", "3"])
        == [0.0] * 3
    )


def test_numbers_as_golds_are_texts():
    assert score(r"\boxed{42}", 42).value == 1.0  # type: ignore[arg-type]


def test_the_same_score_on_a_thread_in_asyncio_and_in_an_executor():
    found = []
    thread = threading.Thread(target=lambda: found.append(score(*HARD)))
    thread.start()
    thread.join()

    async def inside_a_running_loop():
        return [score(*HARD), await asyncio.get_running_loop().run_in_executor(None, score, *HARD)]

    found += asyncio.run(inside_a_running_loop())
    with ThreadPoolExecutor(8) as threads:
        found += threads.map(lambda _: score(*HARD), range(16))
    assert {s[:2] for s in found} == {(1.0, Reason.CORRECT)}


def test_a_thousand_integer_completions_take_less_than_two_seconds():
    reasoning = "So 3 + {4} = \\frac{14}{2}, hence. " * 100
    completions = [f"{reasoning}\\boxed{{{n}}}" for n in range(1000)]
    start = time.process_time()
    scores = score_batch(completions, [str(n) for n in range(1000)])
    assert time.process_time() - start < 2
    assert sum(s.value for s in scores) == 1000
