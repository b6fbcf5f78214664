"""Batched sampling from a local model: batch size, stops, truncation, equality with transformers."""

import pytest
import torch

from scapo.errors import ScapoError
from scapo.sampling.generate import Request, generate
from scapo.sampling.local import LocalModel


@pytest.fixture(scope="module")
def local(checkpoint):
    return LocalModel(str(checkpoint))


def requests(local, count=12, max_tokens=40, temperature=1.0, top_p=0.9, seed=0):
    texts = ["Hi", "A somewhat longer question?", "2+2"]
    return [
        Request(
            prompt_ids=local.prompt_ids([{"role": "user", "content": texts[n % 3] * (1 + n % 2)}]),
            seed=seed + n, max_tokens=max_tokens, temperature=temperature, top_p=top_p,
        )
        for n in range(count)
    ]  # fmt: skip


def in_batches(local, asked, size):
    return [
        reply for start in range(0, len(asked), size) for reply in local.reply(asked[start : start + size])
    ]


def test_batch_size_changes_no_token(local):
    asked = requests(local, count=32)
    alone = in_batches(local, asked, 1)
    assert in_batches(local, asked, 32) == alone
    assert in_batches(local, asked, 5) == alone


def test_order_in_the_batch_changes_no_token(local):
    asked = requests(local)
    assert local.reply(asked[::-1])[::-1] == local.reply(asked)


def test_samples_of_one_prompt_differ_and_repeat_under_the_same_seed(local):
    prompt = local.prompt_ids([{"role": "user", "content": "Hi"}])
    asked = [Request(prompt_ids=prompt, seed=n, max_tokens=20, temperature=1.0, top_p=1.0) for n in (1, 2, 1)]
    one, two, again = local.reply(asked)
    assert one == again
    assert one.ids != two.ids


def test_greedy_equals_transformers(local):
    asked = requests(local, count=6, temperature=0.0)
    for request, reply in zip(asked, local.reply(asked), strict=True):
        ids = torch.tensor([request.prompt_ids])
        expected = local.model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=40,
            eos_token_id=sorted(local.stop_ids), pad_token_id=0,
        )[0, ids.shape[1] :].tolist()  # fmt: skip
        stopped = bool(expected) and expected[-1] in local.stop_ids
        assert reply.ids == (expected[:-1] if stopped else expected)
        assert (reply.tokens, reply.truncated) == (len(expected), not stopped)


class Scripted(torch.nn.Module):
    """A `model` that says the given tokens, row by row, whatever it is asked."""

    def __init__(self, local, script):
        super().__init__()
        self.config, self.device, self.script, self.real = local.model.config, "cpu", script, local.model
        self.step = 0

    def forward(self, input_ids, attention_mask, position_ids, cache, use_cache, logits_to_keep):
        self.real(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids, cache=cache)
        logits = torch.full((len(input_ids), 1, 300), -1e9)
        logits[:, 0, self.script[min(self.step, len(self.script) - 1)]] = 0.0
        self.step += 1
        return type("Output", (), {"logits": logits})


@pytest.mark.parametrize("end", ["<|im_end|>", "<|endoftext|>"])
def test_either_end_token_stops_and_counts_as_one_token(local, end):
    stop = local.tokenizer.convert_tokens_to_ids(end)
    request = requests(local, count=1, max_tokens=3)[0]
    (reply,) = generate(Scripted(local, [40, 41, stop, 42]), [request], local.stop_ids)
    assert (reply.ids, reply.tokens, reply.truncated) == ([40, 41], 3, False)


def test_the_limit_truncates_exactly(local):
    request = requests(local, count=1, max_tokens=3)[0]
    (reply,) = generate(Scripted(local, [40, 41, 42, 43]), [request], local.stop_ids)
    assert (reply.ids, reply.tokens, reply.truncated) == ([40, 41, 42], 3, True)


def test_both_ends_are_in_the_set_of_stop_ids(local):
    ends = local.tokenizer.convert_tokens_to_ids(["<|endoftext|>", "<|im_end|>"])
    assert local.stop_ids == frozenset(ends)
    assert local.describe()["stop_ids"] == sorted(ends)


def test_a_missing_model_and_a_missing_chat_template_are_sentences(tmp_path, checkpoint):
    with pytest.raises(ScapoError, match="No model could be loaded"):
        LocalModel(str(tmp_path / "nothing"))
    plain = tmp_path / "plain"
    plain.mkdir()
    for file in checkpoint.iterdir():
        if file.name != "chat_template.jinja":
            (plain / file.name).write_bytes(file.read_bytes())
    with pytest.raises(ScapoError, match="no chat template"):
        LocalModel(str(plain))
