"""The batched sampler against a loop without cache, padding or batch; and its place in transformers."""

import numpy as np
import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from scapo.algorithm import NonFiniteError
from scapo.decode.generate import FilterReply, FilterRequest, filtered_generate
from scapo.decode.processor import DriftFilterLogitsProcessor
from scapo.errors import ScapoError

STOPS = frozenset({1, 2})


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=24, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, max_position_embeddings=256, initializer_range=0.6,
        tie_word_embeddings=True, eos_token_id=1, pad_token_id=0, bos_token_id=None,
    )  # fmt: skip
    return Qwen3ForCausalLM(config).eval()


def prompts(seed: int, lengths: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(tuple(torch.randint(3, 24, (n,), generator=generator).tolist()) for n in lengths)


def request(seed: int, lengths: tuple[int, ...], max_tokens: int = 12) -> FilterRequest:
    clean, *rewrites = prompts(seed, lengths)
    return FilterRequest(clean_ids=clean, perturbed_ids=tuple(rewrites), seed=seed, max_tokens=max_tokens)


REQUESTS = [
    request(3, (5, 9, 6)),
    request(4, (21, 3, 40, 22, 20)),
    request(5, (2, 2)),
    request(6, (5, 50, 7, 5)),
]


def slow_reply(model, wanted: FilterRequest, mass: float) -> FilterReply:
    """One token at a time, every context on its own and from its start, the rule written out, numpy float64."""
    uniform = np.random.default_rng(wanted.seed)
    reply = FilterReply()
    while reply.tokens < wanted.max_tokens:
        policies = []
        for prompt in (wanted.clean_ids, *wanted.perturbed_ids):
            with torch.no_grad():
                logits = model(torch.tensor([[*prompt, *reply.ids]])).logits[0, -1]
            policies.append(logits.float().softmax(-1).double().numpy())
        clean, rewrites = policies[0], policies[1:]
        drift = np.mean([np.abs(clean - p) / ((clean + p) / 2) for p in rewrites], axis=0)
        masked, total = set(), 0.0
        for token in sorted(set(range(len(clean))) - STOPS, key=lambda t: -drift[t]):
            if total + clean[token] > mass:
                break
            total += clean[token]
            masked.add(token)
        token = int(np.searchsorted(clean.cumsum(), uniform.random() * clean.sum(), side="right"))
        if token in masked:
            reply.rejections += 1
            rest = np.array([0.0 if t in masked else p for t, p in enumerate(clean)])
            token = int(np.searchsorted(rest.cumsum(), uniform.random() * rest.sum(), side="right"))
        reply.tokens += 1
        if token in STOPS:
            return reply
        reply.ids.append(token)
    reply.truncated = True
    return reply


@pytest.mark.parametrize("mass", [0.3, 0.8])
def test_equals_the_slow_loop_token_for_token(model, mass):
    replies = filtered_generate(model, REQUESTS, STOPS, mass)
    assert replies == [slow_reply(model, wanted, mass) for wanted in REQUESTS]
    assert sum(reply.rejections for reply in replies) > 3


def test_a_reply_does_not_depend_on_its_neighbours(model):
    together = filtered_generate(model, REQUESTS, STOPS)
    assert together == [filtered_generate(model, [wanted], STOPS)[0] for wanted in REQUESTS]
    assert together[::-1] == filtered_generate(model, REQUESTS[::-1], STOPS)


def test_mass_zero_is_plain_sampling_of_the_clean_prompt(model):
    plain = filtered_generate(model, REQUESTS, STOPS, mass=0.0)
    alone = [
        FilterRequest(clean_ids=r.clean_ids, perturbed_ids=(), seed=r.seed, max_tokens=r.max_tokens)
        for r in REQUESTS
    ]
    assert plain == filtered_generate(model, alone, STOPS, mass=0.0)
    assert all(reply.rejections == 0 for reply in plain)


def test_a_request_without_rewrites_or_a_broken_model_is_named(model):
    alone = FilterRequest(clean_ids=(3, 4), perturbed_ids=(), seed=0, max_tokens=4)
    with pytest.raises(ScapoError, match="Request 0 has no perturbed prompt"):
        filtered_generate(model, [alone], STOPS)
    broken = Qwen3ForCausalLM(model.config).eval()
    torch.nn.init.constant_(broken.model.norm.weight, float("nan"))
    with pytest.raises(NonFiniteError, match="Request 0, step 0"):
        filtered_generate(broken, REQUESTS[:1], STOPS)


def left_padded(texts):
    width = max(map(len, texts))
    ids = torch.tensor([[0] * (width - len(t)) + list(t) for t in texts])
    mask = torch.tensor([[0] * (width - len(t)) + [1] * len(t) for t in texts])
    return {"input_ids": ids, "attention_mask": mask}


def test_the_processor_makes_all_contexts_take_one_allowed_token(model):
    texts = [*prompts(7, (5, 9, 6)), *prompts(8, (4, 4, 12))]
    batch = left_padded(texts)
    processor = DriftFilterLogitsProcessor(3, STOPS, generator=torch.Generator().manual_seed(0))
    out = model.generate(
        **batch, logits_processor=[processor], do_sample=False, max_new_tokens=8, eos_token_id=[1, 2]
    )
    responses = out[:, batch["input_ids"].shape[1] :]
    assert torch.equal(responses[0], responses[1])
    assert torch.equal(responses[3], responses[5])
    again = DriftFilterLogitsProcessor(3, STOPS, generator=torch.Generator().manual_seed(0))
    out_again = model.generate(
        **batch, logits_processor=[again], do_sample=False, max_new_tokens=8, eos_token_id=[1, 2]
    )
    assert torch.equal(out, out_again)


def test_the_processor_samples_the_filtered_policy():
    # clean (0.1 EOS, 0.4, 0.3, 0.2); drift falls 2, 1, 3 as in the filter's own test: 1 and 2 are masked,
    # so EOS and token 3 are left with 0.1 and 0.2: a third and two thirds
    clean = torch.tensor([0.1, 0.4, 0.3, 0.2])
    rewrite = torch.tensor([0.1, 0.6, 0.1, 0.2])  # d = 0, 0.4, 1.0, 0
    scores = torch.stack([clean, rewrite]).log().repeat(3000, 1)
    processor = DriftFilterLogitsProcessor(2, (0,), generator=torch.Generator().manual_seed(0))
    drawn = processor(torch.zeros(6000, 1, dtype=torch.long), scores).argmax(-1)
    counts = torch.bincount(drawn[::2], minlength=4) / 3000
    assert torch.equal(drawn[::2], drawn[1::2])
    assert counts[1] == counts[2] == 0
    assert abs(float(counts[3]) - 2 / 3) < 0.03  # standard error sqrt(2/9/3000) = 0.0086


def test_the_processor_refuses_rows_that_form_no_blocks():
    with pytest.raises(ScapoError, match="3 rows"):
        DriftFilterLogitsProcessor(2, (0,))(torch.zeros(3, 1), torch.zeros(3, 4))
    with pytest.raises(ScapoError, match="contexts is 1"):
        DriftFilterLogitsProcessor(1, (0,))
