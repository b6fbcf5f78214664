"""A tiny local model with a chat template, and a scripted Inspect provider that records what it was asked."""

import json
from pathlib import Path

import pytest
import torch

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_tokenizer():
    """Bytes as tokens, two end tokens: the tokenizer names one, a base model may emit the other."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {letter: n for n, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|im_end|>")
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def make_model(vocabulary: int, eos: int, seed: int = 0):
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=vocabulary, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=16, max_position_embeddings=512,
        eos_token_id=eos, bos_token_id=None, pad_token_id=None, initializer_range=0.2,
    )  # fmt: skip
    return Qwen3ForCausalLM(config).eval()


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory) -> Path:
    """A random model whose config names `<|endoftext|>` and whose tokenizer names `<|im_end|>`."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = make_tokenizer()
    make_model(len(tokenizer), tokenizer.convert_tokens_to_ids("<|endoftext|>")).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def problem_file(tmp_path) -> Path:
    """Three sums; p0's answer is 5, p1's 7, p2's 9."""
    rows = [
        {"id": f"p{n}", "problem": f"What is {n + 2} + {n + 3}?", "answer": str(2 * n + 5)} for n in range(3)
    ]
    path = tmp_path / "sums.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def scripted():
    """The provider `scripted`: `reply(prompt, seed)` gives (text, stop reason), `calls` what was asked."""
    from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, modelapi

    class Script:
        calls: list[dict] = []  # noqa: RUF012 (one script per test)
        reply = staticmethod(lambda prompt, seed: ("\\boxed{5}", "stop"))

    script = Script()
    script.calls = []

    @modelapi(name="scripted")
    class ScriptedAPI(ModelAPI):
        async def generate(self, input, tools, tool_choice, config):
            script.calls.append({"prompt": input[-1].text, **config.model_dump(exclude_none=True)})
            text, stop = script.reply(input[-1].text, config.seed)
            output = ModelOutput.from_content(self.model_name, text, stop_reason=stop)
            output.usage = ModelUsage(input_tokens=3, output_tokens=len(text), total_tokens=3 + len(text))
            return output

    return script
