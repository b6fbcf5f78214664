"""What the trainer makes of a batch of verl's: with verl's data plane replaced by plain lists."""

import importlib.util
import types

import pytest
import torch

pytestmark = [
    pytest.mark.verl,
    pytest.mark.skipif(importlib.util.find_spec("verl") is None, reason="the verl extra is not installed"),
]

CHAT = [{"role": "user", "content": "a b"}]
REWRITES = {
    "paraphrase": [{"role": "user", "content": "b a"}],
    "typo_noise": None,
    "scenario_wrap": [{"role": "user", "content": "a b c d e f"}],
}


class Tokenizer:
    """One token per letter, and one for the turn of the assistant."""

    pad_token_id = 0

    def apply_chat_template(self, messages, add_generation_prompt, tokenize, **settings):
        assert (add_generation_prompt, tokenize) == (True, False)
        return "".join(message["content"].replace(" ", "") for message in messages) + settings.get(
            "mark", ">"
        )

    def __call__(self, text, add_special_tokens):
        return {"input_ids": [ord(letter) for letter in text]}


class Batch:
    def __init__(self, count, padding):
        self.keys = [f"k{n}" for n in range(count)]
        self.tags = [{"is_padding": True} if n in padding else {} for n in range(count)]
        self.partition_id = "train"
        self.written = {}


def fields(count, padding):
    """`count` rows of one or two groups; padding rows as verl makes them: no valid token, a group of their own."""
    generators = [torch.Generator().manual_seed(n) for n in range(count)]
    lengths = [1 if n in padding else 2 + n % 4 for n in range(count)]
    return {
        "uid": ["pad" if n in padding else f"u{n % 2}" for n in range(count)],
        "prompts": [torch.tensor([97, 98, 62])] * count,
        "responses": [
            torch.randint(1, 9, (length,), generator=generator)
            for length, generator in zip(lengths, generators, strict=True)
        ],
        "response_mask": [torch.full((length,), int(n not in padding)) for n, length in enumerate(lengths)],
        "rm_scores": [
            torch.tensor([0.0] * (length - 1) + [float(n % 3 == 0 and n not in padding)])
            for n, length in enumerate(lengths)
        ],
        "old_log_probs": [
            -torch.rand(length, generator=generator)
            for length, generator in zip(lengths, generators, strict=True)
        ],
        "entropy": [torch.full((length,), 0.5) for length in lengths],
        "raw_prompt": [CHAT] * count,
        "perturbations": [REWRITES] * count,
        "extra_fields": [{"reward_extra_info": {"reason": "no_box"}}] * count,
    }


@pytest.fixture
def run(monkeypatch):
    """Runs the trainer's method on a batch; returns what was written, the metrics and the scored sequences."""
    from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

    from scapo.engines.verl import data_plane
    from scapo.engines.verl.method import MethodSettings
    from scapo.engines.verl.trainer import ScapoTrainer

    def go(rows, padding=(), step=1, ranks=2, mini=2, settings=None, **section):
        trainer = object.__new__(ScapoTrainer)
        trainer.method = MethodSettings.of({"lambda_0": 0.5, "noise_rows": 0} | section)
        trainer.global_steps, trainer.timing_raw, trainer.tokenizer = step, {}, Tokenizer()
        trainer.actor_rollout_wg = types.SimpleNamespace(_dispatch_info={"actor": list(range(ranks))})
        actor = types.SimpleNamespace(shuffle=False, ppo_epochs=1, ppo_mini_batch_size=mini)
        rollout = types.SimpleNamespace(
            n=2, temperature=1.0, log_prob_use_dynamic_bsz=True, log_prob_micro_batch_size_per_gpu=None
        )
        data = {"apply_chat_template_kwargs": settings or {}}
        trainer.config = types.SimpleNamespace(
            actor_rollout_ref=types.SimpleNamespace(actor=actor, rollout=rollout),
            data=types.SimpleNamespace(train_batch_size=rows // 2, seed=1, max_prompt_length=6, get=data.get),
        )
        batch, scored = Batch(rows, set(padding)), []

        def score(worker_group, sequences, temperature, micro_batch):
            scored.extend(sequences)
            return [-torch.rand(len(response)) for _, response in sequences]

        def write(batch, values, lengths):
            batch.written, batch.lengths = values, lengths
            return batch

        monkeypatch.setattr(PPOTrainerSync, "_compute_advantage", lambda self, batch, metrics: batch)
        monkeypatch.setattr(data_plane, "read", lambda batch, names: fields(rows, set(padding)))
        monkeypatch.setattr(data_plane, "write", write)
        monkeypatch.setattr(data_plane, "response_logprobs", score)
        metrics = {}
        torch.manual_seed(0)
        assert trainer._compute_advantage(batch, metrics) is batch
        return batch, metrics, scored, trainer.timing_raw

    return go


def test_padding_rows_enter_no_statistic(run):
    _, _, scored, seconds = run(8)
    padded, padded_metrics, padded_scored, _ = run(8, padding=(6, 7))
    assert len(scored) == 8  # under the one rewrite that is there and short enough
    assert len(padded_scored) == 6
    advantage = padded.written["advantages"]
    assert float(advantage[6:].abs().sum()) == 0
    fewer, fewer_metrics, _, _ = run(6, mini=3)
    torch.testing.assert_close(advantage[:6], fewer.written["advantages"])
    assert padded_metrics == pytest.approx(fewer_metrics)
    assert list(padded.written) == ["advantages"]
    assert padded.lengths == [2, 3, 4, 5, 2, 3, 1, 1]
    assert seconds["probe"] > 0
    assert padded_metrics["reward/reason/no_box"] == 1.0


def test_rewrites_are_tokenised_as_the_prompt_was(run):
    _, _, scored, _ = run(4)
    prompts = {"".join(map(chr, prompt)) for prompt, _ in scored}
    assert prompts == {"ba>"}  # scenario_wrap has 7 tokens, one more than a prompt may have


def test_another_chat_template_than_the_rollout_s_is_refused(run):
    from scapo.errors import ScapoError

    with pytest.raises(
        ScapoError, match=r"prompt of 3 tokens, .* makes 4 of the same messages .* at token 2"
    ):
        run(4, settings={"mark": "!!"})


def test_the_schedule_is_exact_per_optimiser_step_and_after_resume(run):
    # 8 rows on 2 ranks in updates of 2 prompts x 2 responses: rows 0, 1, 4, 5 feed the first update, the others
    # the second. verl's step s starts at optimiser step 2 s - 1.
    first = [0, 1, 4, 5]
    plain = run(8, credit="outcome")[0].written["advantages"]
    on = run(8, step=2, n_0=4)[0].written["advantages"]
    half, metrics, _, seconds = run(8, step=2, n_0=3)
    half = half.written["advantages"]
    assert torch.equal(half[first], on[first])
    assert not torch.equal(half[first], plain[first])
    second = [n for n in range(8) if n not in first]
    assert torch.equal(half[second], plain[second])
    assert not torch.equal(on[second], plain[second])
    assert metrics["scapo/lambda"] == 0.5
    assert "probe" in seconds


@pytest.mark.parametrize(
    "section", [{"n_0": 4, "step": 3}, {"lambda_0": 0.0}, {"credit": "outcome"}, {"credit": "fipo"}]
)
def test_nothing_is_scored_where_lambda_is_0(run, section):
    batch, _, scored, seconds = run(8, **section)
    assert scored == []
    assert "probe" not in seconds
    plain = run(8, credit="outcome")[0].written["advantages"]
    assert torch.equal(batch.written["advantages"], plain)


def test_dropped_groups_leave_both_masks(run):
    # Rows 1, 3, 5 of group u1 with rewards 0, 1, 0 and rows 0, 2, 4 of u0 with 1, 0, 0; with padding from row 1
    # on only row 0 is left: a group of one.
    batch, metrics, _, _ = run(8, padding=(3, 6, 7), dead_groups="drop", mini=4)
    assert metrics["credit/dead_groups"] == pytest.approx(2 / 5)  # rows 1 and 5, both 0
    for name in ("response_mask", "loss_mask"):
        assert batch.written[name].sum(dim=1).tolist() == [2, 0, 4, 0, 2, 0, 0, 0]


def test_metrics_have_the_names_of_every_run(tmp_path):
    import json

    from scapo.algorithm import LambdaSchedule
    from scapo.engines.verl.runlog import RunLog

    class Tracking:
        seen = ()

        def log(self, data, step):
            self.seen = (*self.seen, step)

        def finish(self, exit_code):
            self.seen = (*self.seen, "end")

    def start(after):
        return RunLog(Tracking(), str(tmp_path), LambdaSchedule(0.1, 3), 2, after)

    def verl(step, **more):
        return {"training/global_step": step, "critic/score/mean": 0.5, "timing_s/gen": 2} | more

    log = start(0)
    log.log({"val-core/acc": 1.0}, 0)  # validation before training is no step
    log.log(verl(1, **{"timing_s/probe": 0.25, "drift/mean": 0.1, "scapo/lambda": 0.1}), 1)
    log.log(verl(2, **{"actor/grad_norm": float("nan"), "actor/lr": torch.tensor(1.0)}), 2)
    log.finish(exit_code=0)
    assert log.seen == (0, 1, 2, "end")
    log = start(1)  # resumed from verl's step 1
    log.log(verl(2), 2)
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    first = {"reward/mean": 0.5, "time/rollout_s": 2.0, "time/probe_s": 0.25, "drift/mean": 0.1}
    assert rows == [
        {"step": 2, "lambda": 0.1} | first,
        {"step": 4, "lambda": 0.0, "reward/mean": 0.5, "time/rollout_s": 2.0},
    ]
