"""A transformers model on this machine: loading, prompt ids, the set of stop ids, batches of replies."""

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from scapo.errors import ScapoError
from scapo.sampling.generate import Reply, Request, generate

TURN_ENDS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<end_of_turn>", "</s>")


class LocalModel:
    """A model and its tokenizer, loaded once; `reply` samples a batch.

    A base model may name one end token in its tokenizer and emit another, so every known end counts.
    """

    def __init__(
        self, name: str, *, device: str | None = None, dtype: str | None = None, gguf_file: str | None = None
    ) -> None:
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.dtype = dtype or ("float32" if self.device == "cpu" else "auto")
        self.tokenizer, self.model = _load(name, self.dtype, {"gguf_file": gguf_file} if gguf_file else {})
        self.model.to(self.device).eval()
        if self.tokenizer.chat_template is None:
            raise ScapoError(
                f"{name} has no chat template, so the prompt has no defined form. Add a chat_template.jinja "
                "to the model's folder (a copy of the template it was trained with)."
            )
        self.stop_ids = stop_ids(self.tokenizer, self.model)

    def prompt_ids(self, messages: list[dict[str, str]]) -> tuple[int, ...]:
        """Token ids of a chat, ready for the assistant's turn."""
        encoded = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)
        return tuple(encoded["input_ids"])

    @property
    def context(self) -> int | None:
        """How many tokens prompt and response may have together; None when the config doesn't say."""
        limit = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        return int(limit) if limit else None

    def reply(self, requests: list[Request]) -> list[Reply]:
        return generate(self.model, requests, self.stop_ids)

    def text(self, reply: Reply) -> str:
        return str(self.tokenizer.decode(reply.ids, skip_special_tokens=True))

    def describe(self) -> dict[str, Any]:
        """What can change a number, for the results file."""
        return {
            "device": str(self.model.device),
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "stop_ids": sorted(self.stop_ids),
            "threads": torch.get_num_threads(),
        }


def _load(name: str, dtype: str, options: dict[str, Any]) -> tuple[Any, Any]:
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, **options)
        return tokenizer, AutoModelForCausalLM.from_pretrained(name, dtype=dtype, **options)
    except (OSError, ValueError) as error:
        raise ScapoError(_unloadable(name, error)) from error


def stop_ids(tokenizer: Any, model: Any) -> frozenset[int]:
    """Every id that ends a response: the model's, the tokenizer's, and the known ends the vocabulary has."""
    configured = model.generation_config.eos_token_id
    ids = set(configured if isinstance(configured, list) else [configured])
    ids.add(tokenizer.eos_token_id)
    special = tokenizer.get_added_vocab()
    ids.update(special[end] for end in TURN_ENDS if end in special)
    return frozenset(int(token) for token in ids if token is not None)


def _unloadable(name: str, error: Exception) -> str:
    where = (
        "folder" if Path(name).exists() else "name (it is no folder here, and the model hub did not give it)"
    )
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return f"No model could be loaded from the {where} {name}: {first}. Check the path or the hub id."
