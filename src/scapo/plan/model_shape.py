"""The sizes of a dense decoder: what its parameters, FLOPs and key-value cache follow from."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """Grouped-query attention, gated feed-forward, RMS norms: the Llama and Qwen family.

    qk_norm: norms on queries and keys (Qwen3). qkv_bias: biases of the three projections (Qwen2).
    tied: input embedding and head are one matrix.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    tied: bool
    qk_norm: bool = False
    qkv_bias: bool = False

    @property
    def layer_matmul_params(self) -> int:
        """Weights of one layer that every token is multiplied with: q, o; k, v; gate, up, down."""
        attention = 2 * self.heads + 2 * self.kv_heads
        return self.hidden * attention * self.head_dim + 3 * self.hidden * self.ffn

    @property
    def layer_params(self) -> int:
        """All weights of one layer."""
        bias = (self.heads + 2 * self.kv_heads) * self.head_dim if self.qkv_bias else 0
        return self.layer_matmul_params + 2 * self.hidden + (2 * self.head_dim if self.qk_norm else 0) + bias

    @property
    def head_params(self) -> int:
        return self.vocab * self.hidden

    @property
    def params(self) -> int:
        embeddings = self.head_params * (1 if self.tied else 2)
        return self.layers * self.layer_params + embeddings + self.hidden

    @property
    def read_params(self) -> int:
        """Weights that a decoding step reads: all layers and the head; of the embedding only a few rows."""
        return self.layers * self.layer_params + self.head_params

    @property
    def kv_bytes(self) -> int:
        """Bytes of the bf16 key-value cache per token."""
        return 2 * self.layers * self.kv_heads * self.head_dim * 2


def _qwen3(size: str, layers: int, hidden: int, heads: int, ffn: int, tied: bool = True) -> ModelShape:
    return ModelShape(
        name=f"qwen3-{size}",
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=8,
        head_dim=128,
        ffn=ffn,
        vocab=151_936,
        tied=tied,
        qk_norm=True,
    )


def _smollm2(size: str, layers: int, hidden: int, heads: int, kv_heads: int, ffn: int) -> ModelShape:
    return ModelShape(
        name=f"smollm2-{size}",
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=64,
        ffn=ffn,
        vocab=49_152,
        tied=True,
    )


SHAPES: Mapping[str, ModelShape] = {
    shape.name: shape
    for shape in (
        _qwen3("0.6b", 28, 1024, 16, 3072),
        _qwen3("1.7b", 28, 2048, 16, 6144),
        _qwen3("4b", 36, 2560, 32, 9728),
        _qwen3("8b", 36, 4096, 32, 12288, tied=False),
        _smollm2("135m", 30, 576, 9, 3, 1536),
        _smollm2("360m", 32, 960, 15, 5, 2560),
        _smollm2("1.7b", 24, 2048, 32, 32, 8192),
    )
}
DENSE = ("qwen3", "qwen2", "llama", "mistral")


def load_shape(model: str) -> ModelShape:
    """The shape of a known name (also as a hub id, such as Qwen/Qwen3-4B-Base), a model folder or a config.json.

    Raises:
        ScapoError: for an unknown name, an unreadable file, or a model that is not a dense decoder.
    """
    path = Path(model)
    if path.is_dir():
        path = path / "config.json"
    if path.is_file():
        return _from_file(path)
    name = model.rsplit("/", 1)[-1].lower().removesuffix("-base").removesuffix("-instruct")
    if name in SHAPES:
        return SHAPES[name]
    raise ScapoError(
        f"The model {model!r} is neither a file, nor a folder with a config.json, nor one of the known "
        f"{', '.join(SHAPES)}. Give one of them with --model."
    )


def _from_file(path: Path) -> ModelShape:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScapoError(f"{path} can't be read as JSON: {error}") from error
    kind = config.get("model_type") if isinstance(config, dict) else None
    if kind not in DENSE:
        raise ScapoError(
            f"{path} has the model_type {kind!r}. The formulas hold for dense decoders: {', '.join(DENSE)}."
        )
    hidden, heads = _size(path, config, "hidden_size"), _size(path, config, "num_attention_heads")
    return ModelShape(
        name=path.resolve().parent.name,
        layers=_size(path, config, "num_hidden_layers"),
        hidden=hidden,
        heads=heads,
        kv_heads=_size(path, config, "num_key_value_heads", heads),
        head_dim=_size(path, config, "head_dim", hidden // heads),
        ffn=_size(path, config, "intermediate_size"),
        vocab=_size(path, config, "vocab_size"),
        tied=bool(config.get("tie_word_embeddings", False)),
        qk_norm=kind == "qwen3",
        qkv_bias=kind == "qwen2",
    )


def _size(path: Path, config: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = config.get(key)
    value = default if value is None else value
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ScapoError(f"{path} has {key} = {value!r}; a whole number of 1 or more is needed.")
    return value
