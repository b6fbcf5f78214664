"""The probe against one plain forward per row, its exactness, and what it leaves untouched."""

import math

import pytest
import torch
from memory_meter import MemoryMeter

from scapo.algorithm import ProbeRow, response_logprobs, scoring_mode
from scapo.errors import ScapoError

FAMILIES = [
    ("qwen3", {}),
    ("llama", {"tie_word_embeddings": True}),
    ("gemma2", {"final_logit_softcapping": 5.0, "sliding_window": 8}),
    ("mistral", {"sliding_window": 8}),
    ("cohere", {"logit_scale": 0.25}),
    ("granite", {"logits_scaling": 3.0}),
    ("gpt2", {"n_embd": 32, "n_layer": 2, "n_head": 4}),
    ("bloom", {"n_layer": 2, "n_head": 4}),
]


def random_rows(K=3, groups=3, per_group=4, vocabulary=64, longest=11, seed=0):
    """Ragged prompts and responses, one perturbation missing, one-token and empty responses among them."""
    generator = torch.Generator().manual_seed(seed)

    def ids(low, high):
        length = int(torch.randint(low, high + 1, (), generator=generator))
        return torch.randint(3, vocabulary, (length,), generator=generator).tolist()

    rows = []
    for g in range(groups):
        clean, perturbed = ids(3, 12), [ids(3, 16) for _ in range(K)]
        if g == 1 and K:
            perturbed[-1] = None
        for _ in range(per_group):
            rows.append(ProbeRow(clean=clean, perturbed=perturbed, response=ids(1, longest)))
    rows[0] = ProbeRow(clean=rows[0].clean, perturbed=rows[0].perturbed, response=ids(1, 1))
    rows[2] = ProbeRow(clean=rows[2].clean, perturbed=rows[2].perturbed, response=[])
    return rows


@torch.no_grad()
def one_by_one(model, prompt, response, temperature=1.0):
    """Log-probs of one response after one prompt: no padding, no cache, the model's own logits."""
    logits = model(input_ids=torch.tensor([[*prompt, *response]])).logits[0, len(prompt) - 1 : -1]
    log_softmax = (logits.float() / temperature).log_softmax(-1)
    return log_softmax.gather(-1, torch.tensor(response, dtype=torch.long)[:, None])[:, 0]


def assert_equals_one_by_one(result, model, rows, temperature=1.0, atol=1e-5):
    for n, row in enumerate(rows):
        length = len(row.response)
        assert result.mask[n].sum() == length
        for k, prompt in enumerate([row.clean, *row.perturbed]):
            scored = result.logp_clean[n] if k == 0 else result.logp_perturbed[k - 1, n]
            if prompt is None:
                assert bool(scored[:length].isnan().all())
                assert not result.present[k - 1, n]
            else:
                expected = one_by_one(model, prompt, row.response, temperature)
                torch.testing.assert_close(scored[:length], expected, rtol=0, atol=atol)
            assert float(scored[length:].abs().sum()) == 0.0


@pytest.mark.parametrize("share_prompts", [True, False])
@pytest.mark.parametrize(("family", "config"), FAMILIES, ids=[name for name, _ in FAMILIES])
def test_equals_one_plain_forward_per_row(tiny_model, family, config, share_prompts):
    model, rows = tiny_model(family, **config), random_rows()
    result = response_logprobs(model, rows, batch_tokens=64, share_prompts=share_prompts)
    assert result.logp_perturbed.shape == (3, 12, result.mask.shape[1])
    assert_equals_one_by_one(result, model, rows)


@pytest.mark.parametrize("family", ["mamba2", "qwen3_5_text"])
def test_models_with_recurrent_layers_are_scored_without_a_shared_cache(tiny_model, family):
    extra = {
        "mamba2": {"num_heads": 8, "head_dim": 8, "state_size": 8, "n_groups": 1, "chunk_size": 8},
        "qwen3_5_text": {
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 2,
            "linear_key_head_dim": 8,
            "linear_value_head_dim": 8,
            "head_dim": 8,
            "layer_types": ["linear_attention", "full_attention"],
        },
    }
    try:
        model = tiny_model(family, **extra[family])
    except (ValueError, KeyError) as error:
        pytest.skip(f"this transformers has no {family}: {error}")
    rows = random_rows()
    assert_equals_one_by_one(response_logprobs(model, rows, batch_tokens=64), model, rows, atol=2e-5)


@pytest.mark.parametrize("batch_tokens", [1, 40, 10_000])
def test_batching_does_not_change_the_numbers(tiny_model, batch_tokens):
    model, rows = tiny_model(), random_rows()
    assert_equals_one_by_one(response_logprobs(model, rows, batch_tokens=batch_tokens), model, rows)


def test_shared_and_unshared_prompts_agree(tiny_model):
    model, rows = tiny_model(), random_rows()
    shared, alone = (response_logprobs(model, rows, share_prompts=share) for share in (True, False))
    torch.testing.assert_close(shared.logp_clean, alone.logp_clean, rtol=0, atol=1e-5)
    torch.testing.assert_close(shared.logp_perturbed, alone.logp_perturbed, rtol=0, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("share_prompts", [True, False])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_an_identity_perturbation_has_drift_exactly_zero(tiny_model, dtype, share_prompts, temperature):
    model = tiny_model().to(dtype)
    rows = [
        ProbeRow(clean=row.clean, perturbed=[row.perturbed[0], row.clean], response=row.response)
        for row in random_rows()
    ]
    result = response_logprobs(
        model, rows, temperature=temperature, batch_tokens=64, share_prompts=share_prompts
    )
    assert torch.equal(result.drift[1], torch.zeros_like(result.drift[1]))
    assert float(result.drift[0][result.mask].mean()) > 0.05


def test_temperature_is_applied(tiny_model):
    model, rows = tiny_model(), random_rows()
    result = response_logprobs(model, rows, temperature=0.7)
    assert_equals_one_by_one(result, model, rows, temperature=0.7)


def test_left_padding_does_not_move_the_numbers(tiny_model):
    """A very long prompt in the batch pads the others far; they score as if alone."""
    model, rows = tiny_model(), random_rows()
    long = ProbeRow(clean=[5] * 90, perturbed=[[6] * 95, None, [7] * 3], response=[8, 9])
    assert_equals_one_by_one(response_logprobs(model, [*rows, long]), model, [*rows, long])


def test_noise_floor_is_rounding_in_float32_and_larger_in_bfloat16(tiny_model):
    rows = random_rows(longest=40)
    full = response_logprobs(tiny_model(), rows)
    half = response_logprobs(tiny_model().bfloat16(), rows)
    assert 0.0 < full.noise_floor < 1e-4
    gap = (full.logp_clean - half.logp_clean)[full.mask].abs().mean()  # the rounding there really is
    assert 0.3 * float(gap) < half.noise_floor < 3 * float(gap)
    assert len(full.noise_drift) > 0
    nothing = response_logprobs(tiny_model(), rows, noise_rows=0)
    assert len(nothing.noise_drift) == 0
    assert math.isnan(nothing.noise_floor)


def test_training_modes_and_gradients_stay_as_they_were(tiny_model):
    model = tiny_model(attention_dropout=0.5)
    model.train()
    model.model.layers[1].eval()  # a part that the user keeps in evaluation mode
    before = {name: module.training for name, module in model.named_modules()}
    first, second = (response_logprobs(model, random_rows()) for _ in range(2))
    assert {name: module.training for name, module in model.named_modules()} == before
    assert torch.equal(first.logp_clean, second.logp_clean)  # no dropout while scoring
    assert not first.logp_clean.requires_grad
    assert all(p.grad is None for p in model.parameters())


def test_the_mode_is_restored_after_an_error(tiny_model):
    model = tiny_model().train()
    seen = []

    def fail():
        with scoring_mode(model):
            seen.append((model.training, torch.is_grad_enabled()))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert seen == [(False, False)]
    assert model.training
    assert torch.is_grad_enabled()


def test_gradient_checkpointing_may_be_on(tiny_model):
    model, rows = tiny_model(), random_rows()
    expected = response_logprobs(model, rows)
    model.gradient_checkpointing_enable()
    model.train()
    assert torch.equal(response_logprobs(model, rows).logp_clean, expected.logp_clean)


def test_adapters_are_part_of_the_policy(tiny_model):
    peft = pytest.importorskip("peft")
    model = peft.get_peft_model(tiny_model(), peft.LoraConfig(target_modules=["q_proj", "up_proj"], r=2))
    rows = random_rows()
    before = response_logprobs(model, rows)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_()
    after = response_logprobs(model, rows)
    assert float((after.logp_clean - before.logp_clean).abs().max()) > 0.1
    assert_equals_one_by_one(after, model, rows)


def test_an_adapted_head_is_refused(tiny_model):
    peft = pytest.importorskip("peft")
    model = peft.get_peft_model(tiny_model(), peft.LoraConfig(target_modules=["lm_head"], r=2))
    with pytest.raises(ScapoError, match="plain linear"):
        response_logprobs(model, random_rows())


def test_logits_that_pass_through_an_unknown_step_are_refused(tiny_model):
    model = tiny_model()
    forward = model.forward

    def scaled(*args, **kwargs):
        out = forward(*args, **kwargs)
        out.logits = out.logits * 0.5
        return out

    model.forward = scaled
    with pytest.raises(ScapoError, match="can't be probed"):
        response_logprobs(model, random_rows())


def test_what_is_no_language_model_is_refused():
    with pytest.raises(ScapoError, match="not a transformers language model"):
        response_logprobs(torch.nn.Linear(2, 2), random_rows())


def test_autocast_of_the_caller_reaches_the_backbone(tiny_model):
    model, rows = tiny_model(), random_rows()
    exact = response_logprobs(model, rows)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = response_logprobs(model, rows)
    gap = (exact.logp_clean - rounded.logp_clean).abs().max()
    assert 0 < float(gap) < 1.0
    assert rounded.logp_clean.dtype is torch.float32


def test_no_tensor_of_tokens_times_vocabulary_is_ever_made(tiny_model):
    model = tiny_model(vocab_size=50_000, hidden_size=8, intermediate_size=8, num_attention_heads=1,
                       num_key_value_heads=1)  # fmt: skip
    rows = random_rows(K=0, groups=2, per_group=13, longest=90, seed=1)
    tokens = sum(len(row.response) for row in rows)
    with MemoryMeter() as memory:
        response_logprobs(model, rows, noise_rows=0)
    chunk = 2**25 // 50_000
    assert tokens > chunk
    assert memory.largest <= chunk * 50_000 * 4


def test_no_perturbations_at_all_scores_the_original_prompt(tiny_model):
    model = tiny_model()
    rows = [ProbeRow(clean=row.clean, perturbed=(), response=row.response) for row in random_rows()]
    result = response_logprobs(model, rows)
    assert result.logp_perturbed.shape[0] == 0
    assert result.present.shape == (0, len(rows))
    assert_equals_one_by_one(result, model, rows)


def test_rows_without_any_response_give_empty_results(tiny_model):
    result = response_logprobs(tiny_model(), [ProbeRow(clean=[3, 4], perturbed=[[5]], response=[])])
    assert result.logp_clean.shape == (1, 0)
