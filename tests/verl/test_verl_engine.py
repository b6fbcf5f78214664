"""Our calls into verl's own code, in one process: its FSDP engine on one gloo rank, its losses, its configuration."""

import importlib.util
import types

import pytest
import torch

pytestmark = [
    pytest.mark.verl,
    pytest.mark.skipif(importlib.util.find_spec("verl") is None, reason="the verl extra is not installed"),
]

LENGTHS = [(5, 4), (9, 7), (3, 1), (12, 6), (4, 4), (8, 2), (6, 5)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny Qwen3 with float32 weights."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("tiny")
    config = Qwen3Config(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        initializer_range=0.3,
        eos_token_id=1,
        pad_token_id=0,
    )
    Qwen3ForCausalLM(config).save_pretrained(path)
    base = importlib.util.find_spec("scapo.problems.world").submodule_search_locations[0]
    from transformers import AutoTokenizer

    AutoTokenizer.from_pretrained(f"{base}/base").save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def actor(folder, tmp_path_factory):
    """verl's training worker with its FSDP2 engine, as a worker group of one rank."""
    import os
    import socket

    from verl.workers.config import FSDPEngineConfig, FSDPOptimizerConfig, HFModelConfig, TrainingWorkerConfig
    from verl.workers.engine_workers import TrainingWorker

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1"}
    os.environ.update(place | {"MASTER_PORT": str(port)})
    fp32 = {"param_dtype": "fp32", "reduce_dtype": "fp32", "buffer_dtype": "fp32"}
    worker = TrainingWorker(
        TrainingWorkerConfig(
            model_type="language_model",
            model_config=HFModelConfig(
                path=str(folder),
                override_config={"attn_implementation": "sdpa"},
                enable_gradient_checkpointing=False,
            ),
            engine_config=FSDPEngineConfig(
                strategy="fsdp2",
                use_torch_compile=False,
                mixed_precision=fp32,
                infer_max_token_len_per_gpu=40,
                infer_micro_batch_size_per_gpu=3,
            ),
            optimizer_config=FSDPOptimizerConfig(lr=1e-3, total_training_steps=10),
        )
    )
    worker.reset()
    yield worker
    torch.distributed.destroy_process_group()
    for name in (*place, "MASTER_PORT"):
        os.environ.pop(name, None)


class Group:
    """A worker group that cuts a call's batch into `ranks` slices, all served by one worker."""

    def __init__(self, worker, ranks, **settings):
        self.worker, self.settings, self.calls = worker, settings, []
        self._dispatch_info = {"actor": list(range(ranks))}

    def compute_log_prob(self, batch):
        from verl.utils import tensordict_utils as tu

        self.calls.append(batch)
        slices = tu.chunk_tensordict(batch, len(self._dispatch_info["actor"]))
        for part in slices:
            tu.assign_non_tensor(part, **self.settings)
        return tu.concat_tensordict([self.worker.infer_batch(part).select("log_probs") for part in slices])


@pytest.fixture
def sequences():
    generator = torch.Generator().manual_seed(2)
    return [tuple(torch.randint(2, 64, (n,), generator=generator).tolist() for n in pair) for pair in LENGTHS]


@torch.no_grad()
def plain(folder, sequences, temperature):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32").eval()
    found = []
    for prompt, response in sequences:
        logits = model(torch.tensor([prompt + response])).logits[0, len(prompt) - 1 : -1]
        logp = (logits / temperature).log_softmax(-1)
        found.append(logp.gather(1, torch.tensor(response)[:, None])[:, 0])
    return found


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("packed", [True, False], ids=["packed", "padded"])
@pytest.mark.parametrize("by_tokens", [True, False], ids=["by tokens", "by rows"])
def test_log_probs_are_those_of_plain_transformers(actor, folder, sequences, ranks, packed, by_tokens):
    from scapo.engines.verl import data_plane

    group = Group(actor, ranks, use_remove_padding=packed, use_dynamic_bsz=by_tokens)
    found = data_plane.response_logprobs(group, sequences, 0.7, None if by_tokens else 3)
    assert len(group.calls) == 1
    for ours, theirs in zip(found, plain(folder, sequences, 0.7), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


def test_slices_cost_about_the_same(sequences):
    from scapo.engines.verl.data_plane import _balanced

    lengths = [len(prompt) + len(response) for prompt, response in sequences]  # 9 16 4 18 8 10 11: 76
    order = _balanced(lengths, 2, 1)
    assert sorted(order) == [0, 1, 2, 2, 3, 4, 5, 6]  # the shortest fills up: 80
    first, second = (sum(lengths[row] for row in part) for part in (order[:4], order[4:]))
    assert abs(first - second) <= 2
    assert len(_balanced(lengths, 2, 3)) == 12


def update_loss(method, logp, old, advantage, mask, **info):
    """Our loss as an actor worker calls it."""
    from verl.trainer.ppo.core_algos import get_policy_loss_fn

    from scapo.engines.verl.losses import ScapoLossConfig

    config = types.SimpleNamespace(
        policy_loss=ScapoLossConfig(loss_mode="scapo", method=method.plain()), global_batch_info=info
    )
    return get_policy_loss_fn("scapo")(
        old_log_prob=old,
        log_prob=logp,
        advantages=advantage,
        response_mask=mask,
        loss_agg_mode="token-mean",
        config=config,
        rollout_is_weights=None,
    )


@pytest.mark.parametrize(
    "section", [{"objective": "sapo"}, {"credit": "fipo"}, {"name": "dr_grpo", "credit": "fipo"}]
)
def test_our_loss_adds_up_over_micro_batches_and_ranks(section):
    from scapo.algorithm import future_kl_weight, policy_loss, runaway_rows
    from scapo.engines.verl.method import MethodSettings

    method = MethodSettings.of(section)
    generator = torch.Generator().manual_seed(0)
    logp = (torch.randn(8, 6, generator=generator) - 3).requires_grad_()
    old = logp.detach() + 0.5 * torch.randn(8, 6, generator=generator)
    advantage = torch.randn(8, 6, generator=generator)
    mask = torch.arange(6) < torch.tensor([6, 2, 5, 1, 6, 3, 4, 6])[:, None]
    # Two ranks with two micro-batches each; gradients are averaged over the ranks.
    info = {"dp_size": 2, "batch_num_tokens": 33, "global_batch_size": 8, "loss_scale_factor": 6}
    parts = [
        update_loss(method, logp[rows], old[rows], advantage[rows], mask[rows], **info)[0]
        for rows in (slice(0, 2), slice(2, 4), slice(4, 6), slice(6, 8))
    ]
    total = sum(parts) / 2
    if method.credit == "fipo":
        weighted = advantage * future_kl_weight(logp, old, advantage, mask)
        mask = mask & ~runaway_rows(logp, old, advantage, mask)[:, None]
        advantage = weighted
    denominator = 33 if method.reduction == "token_mean" else 8 * 6
    expected = policy_loss(
        method.objective, logp, old, advantage, mask, reduction=method.reduction, denominator=denominator
    ).loss
    torch.testing.assert_close(total, expected)
    ours, theirs = (torch.autograd.grad(loss, logp, retain_graph=True)[0] for loss in (total, expected))
    torch.testing.assert_close(ours, theirs)
    assert float(theirs.abs().sum()) > 0


@pytest.fixture
def recipe_file(tmp_path, folder):
    from scapo.engines.verl.data import verl_rows, write_parquet
    from scapo.problems import Problem

    kinds = {"paraphrase": "Sum up 1 and 2.", "typo_noise": "Add 1 adn 2."}
    problems = [Problem(f"p{n}", f"Add 1 and {n}.", str(n + 1), {"perturbations": kinds}) for n in range(4)]
    write_parquet(verl_rows(problems), tmp_path / "train.parquet")
    path = tmp_path / "recipe.yaml"
    path.write_text(
        f"model: {folder}\noutput: {tmp_path / 'run'}\ntrain: {{path: {tmp_path / 'train.parquet'}}}\n"
        "rollout: {prompts: 4, responses: 2, updates: 2, max_tokens: 8}\nmethod: {n_0: 3}\n"
        "verl: {trainer: {n_gpus_per_node: 2}}\n"
    )
    return path


def prepared(path, *words):
    from scapo.engines.verl.launch import prepare
    from scapo.engines.verl.recipe import load_recipe

    return prepare(load_recipe(path, words))


def test_a_recipe_becomes_verl_s_configuration(recipe_file):
    from omegaconf import OmegaConf

    config, method, notes = prepared(recipe_file, "trainer.nnodes=3", "method.kinds=[typo_noise]")
    assert notes == [f"4 problems from {recipe_file.parent / 'train.parquet'}, 4 with rewrites"]
    actor = config.actor_rollout_ref.actor
    assert (actor.ppo_mini_batch_size, actor.clip_ratio_high, actor.clip_ratio_c) == (2, 0.28, 10.0)
    assert (config.trainer.nnodes, config.trainer.n_gpus_per_node) == (3, 2)
    assert config.trainer.v1.trainer_mode == "scapo"
    assert method.probed_kinds == ("typo_noise",)
    section = OmegaConf.to_container(config.scapo.method, resolve=True)
    assert type(method).of(section) == method


def test_our_loss_reaches_the_workers_by_its_settings(recipe_file):
    from verl.utils.config import omega_conf_to_dataclass

    from scapo.engines.verl.losses import ScapoLossConfig

    config, method, _ = prepared(recipe_file, "method.name=fipo", "method.credit_constants.half_life=8")
    actor = omega_conf_to_dataclass(config.actor_rollout_ref.actor)
    assert isinstance(actor.policy_loss, ScapoLossConfig)
    assert actor.policy_loss.loss_mode == "scapo"
    assert type(method).of(actor.policy_loss.method).credit_constants == {"half_life": 8}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["algorithm.rollout_correction.bypass_mode=true"], "bypass_mode is True.*would pass for drift"),
        (["actor_rollout_ref.rollout.top_p=0.9"], "top_p is 0.9.*whole vocabulary"),
        (["actor_rollout_ref.rollout.top_k=50"], "top_k is 50"),
        (["actor_rollout_ref.rollout.temperature=0"], "temperature is 0"),
        (["trainer.use_v1=false"], "trainer.use_v1 is False"),
        (
            ["trainer.v1.trainer_mode=separate_async"],
            "trainer_mode is 'separate_async'.*another number of optimiser steps",
        ),
        (["data.train_batch_size=8"], "data.train_batch_size follows from the recipe's own sections"),
        (["scapo.method.n_0=8"], "scapo.method.n_0 follows from"),
        (["algorithm.adv_estimator=gae"], "adv_estimator is 'gae'"),
        (["algorithm.use_kl_in_reward=true"], "use_kl_in_reward is True"),
        (["trainer.critic_warmup=2"], "critic_warmup is 2"),
        (["actor_rollout_ref.rollout.multi_turn.enable=true"], "a later turn's prompt has no rewrite"),
        (["actor_rollout_ref.actor.shuffle=true"], "n_0 is 3, but one rollout feeds 2.*multiple of 2"),
        (["actor_rollout_ref.actor.ppo_epochs=2"], "n_0 is 3, but one rollout feeds 4"),
        (["rollout.updates=3"], "prompts must divide evenly"),
        (["rollout.prompts=0"], "rollout.prompts is 0"),
        (["trainer.nonsense=1"], "verl's configuration refuses a setting.*nonsense"),
        (
            ["actor_rollout_ref.actor.use_dynamic_bsz=false"],
            "verl refuses these settings|verl's configuration",
        ),
        (
            ["train.path=gone.parquet"],
            "gone.parquet is not a Parquet file. Make it with `scapo problems to-verl",
        ),
        (["method.source=counterfactual"], "No problem in .* has a rewrite of the kinds counterfactual"),
    ],
)
def test_what_can_t_be_trained_is_a_sentence_before_ray_starts(recipe_file, words, sentence):
    import ray

    from scapo.errors import ScapoError

    with pytest.raises(ScapoError, match=sentence):
        prepared(recipe_file, *words)
    assert not ray.is_initialized()


def test_shuffled_updates_are_fine_where_lambda_stays(recipe_file):
    prepared(recipe_file, "actor_rollout_ref.actor.shuffle=true", "method.n_0=4")
    prepared(recipe_file, "actor_rollout_ref.actor.shuffle=true", "method.credit=outcome")


def test_another_verl_is_refused_by_name(monkeypatch):
    from scapo.engines.verl import checks
    from scapo.errors import ScapoError

    for found in ("0.9.0", "0.10.0"):
        monkeypatch.setattr("importlib.metadata.version", lambda name, found=found: found)
        with pytest.raises(
            ScapoError, match=f"verl {found} is installed; this engine needs 0.9.1 or newer below 0.10"
        ):
            checks.check_verl()
    monkeypatch.setattr(checks, "METHOD", "_gone")
    with pytest.raises(ScapoError, match="has no method _gone any more"):
        checks.check_method()


def test_a_run_keeps_its_settings_and_data(recipe_file):
    from scapo.engines.verl.launch import prepare
    from scapo.engines.verl.recipe import load_recipe
    from scapo.engines.verl.rundir import LATEST, write_config
    from scapo.errors import ScapoError

    recipe = load_recipe(recipe_file)
    config, method, _ = prepare(recipe)
    write_config(recipe, config, method, "test")
    prepared(recipe_file, "method.n_0=4")  # no checkpoint yet: a new run
    (recipe.output / LATEST).parent.mkdir()
    (recipe.output / LATEST).write_text("1")
    prepared(recipe_file, "trainer.nnodes=2")
    with pytest.raises(ScapoError, match=r"was started with method = .* A run can't change that"):
        prepared(recipe_file, "method.n_0=4")
    from pathlib import Path

    from scapo.engines.verl.data import verl_rows, write_parquet
    from scapo.problems import Problem

    other = [Problem("p", "Add 3 and 4.", "7", {"perturbations": {"typo_noise": "Ad 3 and 4."}})]
    write_parquet(verl_rows(other), Path(recipe.train["path"]))
    with pytest.raises(ScapoError, match="has changed since"):
        prepared(recipe_file)
