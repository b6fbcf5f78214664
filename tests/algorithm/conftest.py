"""Tiny models of several families, made from configurations."""

import pytest
import torch


@pytest.fixture
def tiny_model():
    """A function (family, seed, **config) -> causal LM with 64 words, in evaluation mode."""
    transformers = pytest.importorskip("transformers")

    def make(family: str = "qwen3", seed: int = 0, **overrides):
        small = {
            "vocab_size": 64,
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "intermediate_size": 48,
            "max_position_embeddings": 256,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "pad_token_id": 0,
            "initializer_range": 0.3,  # peaked distributions: drift is far from rounding
        }
        if family in ("qwen3", "gemma2", "gemma3_text"):
            small["head_dim"] = 8
        torch.manual_seed(seed)
        config = transformers.AutoConfig.for_model(family, **{**small, **overrides})
        return transformers.AutoModelForCausalLM.from_config(config).eval()

    return make
