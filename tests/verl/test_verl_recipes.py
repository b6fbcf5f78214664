"""The recipes for clusters, loaded into verl's own configuration."""

from pathlib import Path

import pytest

pytest.importorskip("verl", reason="needs the verl extra, which excludes trl")

from scapo.engines.verl.data import verl_rows, write_parquet
from scapo.engines.verl.launch import prepare
from scapo.engines.verl.recipe import load_recipe
from scapo.problems import load_problems

pytestmark = pytest.mark.verl
ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "recipes" / "verl"
CLUSTER = ["qwen3-4b-8gpu", "qwen3-1.7b-8gpu", "qwen3-4b-2x8"]


@pytest.fixture(scope="module")
def parquet(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    kinds = ("paraphrase", "typo_noise", "scenario_wrap", "irrelevant_context")
    texts = ", ".join(f'"{kind}": "Add one and {n} twos"' for n, kind in enumerate(kinds))
    rows = folder / "rows.jsonl"
    rows.write_text(f'{{"id": "a", "problem": "Add 1 and 2", "answer": "3", "perturbations": {{{texts}}}}}\n')
    write_parquet(verl_rows(load_problems(str(rows)).problems), folder / "train.parquet")
    return folder / "train.parquet"


def composed(name: str, parquet: Path, *words: str):
    paths = [f"train.path={parquet}", f"validation.path={parquet}", f"output={parquet.parent / name}"]
    return prepare(load_recipe(RECIPES / f"{name}.yaml", [*paths, *words]))


@pytest.mark.parametrize("name", CLUSTER)
def test_the_papers_settings_arrive_in_verls_configuration(name, parquet):
    config, method, _ = composed(name, parquet)
    assert (method.credit, method.objective, method.lambda_0) == ("semifactual", "clipped", 0.01)
    assert config.data.train_batch_size == 128
    assert config.data.max_prompt_length == 1024
    assert config.data.max_response_length == 16_384
    actor, rollout = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    assert actor.ppo_mini_batch_size == 64
    assert rollout.n == 8
    assert (rollout.temperature, rollout.top_p, rollout.top_k) == (1.0, 1.0, -1)
    assert (actor.clip_ratio_low, actor.clip_ratio_high, actor.clip_ratio_c) == (0.2, 0.28, 10.0)
    assert actor.loss_agg_mode == "token-mean"
    assert not actor.use_kl_loss
    assert not config.algorithm.use_kl_in_reward
    optim = actor.optim
    assert (optim.lr, optim.weight_decay, list(optim.betas)) == (1e-6, 0.01, [0.9, 0.999])
    assert (optim.lr_scheduler_type, actor.grad_clip, optim.clip_grad) == ("constant", 1.0, 1.0)
    assert (actor.fsdp_config.model_dtype, actor.fsdp_config.dtype) == ("fp32", "bfloat16")


@pytest.mark.parametrize("name", CLUSTER)
def test_the_cluster_is_fsdp2_with_vllm(name, parquet):
    config, _, _ = composed(name, parquet)
    assert config.actor_rollout_ref.actor.strategy == "fsdp2"
    assert config.actor_rollout_ref.rollout.name == "vllm"
    assert config.trainer.v1.trainer_mode == "scapo"
    assert config.trainer.n_gpus_per_node == 8


@pytest.mark.parametrize(
    ("name", "model", "rollouts", "n_0", "nodes"),
    [
        ("qwen3-4b-8gpu", "Qwen/Qwen3-4B-Base", 300, 120, 1),
        ("qwen3-1.7b-8gpu", "Qwen/Qwen3-1.7B-Base", 500, 200, 1),
        ("qwen3-4b-2x8", "Qwen/Qwen3-4B-Base", 300, 120, 2),
    ],
)
def test_each_recipe_is_its_run(name, model, rollouts, n_0, nodes, parquet):
    config, method, _ = composed(name, parquet)
    assert config.actor_rollout_ref.model.path == model
    assert config.trainer.total_training_steps == rollouts
    assert method.n_0 == n_0
    assert config.trainer.nnodes == nodes
    assert config.trainer.test_freq * 2 == 40  # optimiser steps
    assert 0 < config.trainer.save_freq <= 20


@pytest.mark.parametrize("name", CLUSTER)
def test_the_longest_row_fits_into_a_micro_batch(name, parquet):
    config, _, _ = composed(name, parquet)
    longest = config.data.max_prompt_length + config.data.max_response_length
    assert config.actor_rollout_ref.actor.ppo_max_token_len_per_gpu >= longest
    rollout = config.actor_rollout_ref.rollout
    assert rollout.log_prob_max_token_len_per_gpu >= longest
    assert rollout.log_prob_use_dynamic_bsz


def test_grpo_is_the_same_recipe(parquet):
    config, method, _ = composed("qwen3-4b-8gpu", parquet, "method.credit=outcome", "label=GRPO")
    assert not method.probes
    assert config.trainer.experiment_name == "GRPO"


def test_what_docs_change_on_the_command_line_is_accepted(parquet):
    words = [
        "actor_rollout_ref.model.use_fused_kernels=true",
        "actor_rollout_ref.rollout.name=sglang",
        "actor_rollout_ref.actor.fsdp_config.param_offload=true",
        "actor_rollout_ref.actor.fsdp_config.optimizer_offload=true",
        "+actor_rollout_ref.model.override_config.attn_implementation=sdpa",
        "actor_rollout_ref.rollout.tensor_model_parallel_size=2",
        "trainer.logger=[console,wandb]",
        "trainer.resume_mode=disable",
    ]
    config, _, _ = composed("qwen3-4b-8gpu", parquet, *words)
    assert config.actor_rollout_ref.model.use_fused_kernels
    assert config.actor_rollout_ref.rollout.name == "sglang"


def test_the_short_run_of_the_docs_is_accepted(parquet):
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    command = page.split("recipes/verl/qwen3-4b-8gpu.yaml output=runs/short", 1)[1].split("```", 1)[0]
    words = command.replace("\\\n", " ").split()
    assert "method.n_0=4" in words
    config, method, _ = composed("qwen3-4b-8gpu", parquet, *words)
    updates = config.data.train_batch_size // config.actor_rollout_ref.actor.ppo_mini_batch_size
    assert method.n_0 < updates * config.trainer.total_training_steps  # the probe ends within the run
    assert config.trainer.total_training_steps > config.trainer.save_freq
