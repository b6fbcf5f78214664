"""Parameter counts against transformers' own models on the meta device, and reading of configurations."""

import json

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config, Qwen3Config

from scapo.errors import ScapoError
from scapo.plan.model_shape import SHAPES, ModelShape, load_shape


def config_of(shape: ModelShape):
    sizes = {
        "num_hidden_layers": shape.layers,
        "hidden_size": shape.hidden,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "intermediate_size": shape.ffn,
        "vocab_size": shape.vocab,
        "tie_word_embeddings": shape.tied,
    }
    if shape.qkv_bias:
        return Qwen2Config(**sizes)
    return Qwen3Config(**sizes) if shape.qk_norm else LlamaConfig(**sizes)


def real_count(config) -> int:
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    return sum(weight.numel() for weight in model.parameters())


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_parameters_are_those_of_the_transformers_model(name):
    shape = SHAPES[name]
    assert shape.params == real_count(config_of(shape))


@pytest.mark.parametrize(
    ("name", "billions"),
    # as on the models' cards: totals with embeddings
    [
        ("qwen3-0.6b", 0.60),
        ("qwen3-1.7b", 1.72),
        ("qwen3-4b", 4.02),
        ("qwen3-8b", 8.19),
        ("smollm2-135m", 0.135),
    ],
)
def test_totals_are_the_published_ones(name, billions):
    assert SHAPES[name].params / 1e9 == pytest.approx(billions, abs=0.005)


def test_key_value_cache_of_qwen3_4b_by_hand():
    # keys and values x 36 layers x 8 heads x 128 x 2 bytes
    assert SHAPES["qwen3-4b"].kv_bytes == 2 * 36 * 8 * 128 * 2 == 147_456


@pytest.mark.parametrize("name", ["Qwen/Qwen3-4B-Base", "qwen3-4b", "Qwen3-4B"])
def test_hub_names_are_known(name):
    assert load_shape(name) is SHAPES["qwen3-4b"]


@pytest.mark.parametrize(
    "config",
    [
        Qwen3Config(
            num_hidden_layers=3, hidden_size=64, num_attention_heads=4, num_key_value_heads=2, head_dim=32
        ),
        Qwen2Config(num_hidden_layers=2, hidden_size=64, num_attention_heads=4, num_key_value_heads=2),
        LlamaConfig(num_hidden_layers=2, hidden_size=64, num_attention_heads=4, tie_word_embeddings=True),
    ],
    ids=["qwen3", "qwen2", "llama"],
)
@pytest.mark.parametrize("give", ["folder", "file"])
def test_a_saved_configuration_is_read(tmp_path, config, give):
    config.save_pretrained(tmp_path)
    shape = load_shape(str(tmp_path if give == "folder" else tmp_path / "config.json"))
    assert shape.params == real_count(config)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"model_type": "qwen3_moe"}', "qwen3_moe"),
        ("[1]", "None"),
        ("{", "JSON"),
        ('{"model_type": "qwen3", "hidden_size": "wide"}', "hidden_size = 'wide'"),
        ('{"model_type": "qwen3", "hidden_size": 64}', "num_attention_heads = None"),
    ],
)
def test_a_bad_configuration_is_refused_with_its_name(tmp_path, text, says):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ScapoError) as error:
        load_shape(str(path))
    assert says in str(error.value)
    assert str(path) in str(error.value)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ScapoError, match="qwen3-8b"):
        load_shape("qwen3-5b")


def test_a_config_without_optional_sizes_falls_back(tmp_path):
    content = {
        "model_type": "llama",
        "num_hidden_layers": 1,
        "hidden_size": 8,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "vocab_size": 10,
    }
    (tmp_path / "config.json").write_text(json.dumps(content))
    shape = load_shape(str(tmp_path))
    assert (shape.kv_heads, shape.head_dim, shape.tied) == (2, 4, False)
