"""The policy: tokenizer, weights, adapters, and the ids that end a response."""

from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer

from scapo.engines.trl.recipe import Recipe
from scapo.errors import ScapoError


def load_tokenizer(model: str) -> Any:
    """The model's tokenizer, padding on the left.

    Raises:
        ScapoError: when it can't be found or has no chat template.
    """
    if not Path(model).exists() and (
        model.count("/") > 1 or model.startswith((".", "/")) or model.endswith(".gguf")
    ):
        raise ScapoError(f"model is {model}, which does not exist here and is not a hub id. Mend the path.")
    folder, gguf = _gguf(model)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left", **gguf)
    except (OSError, ValueError) as error:
        raise ScapoError(f"No tokenizer found for model {model!r}: {str(error).splitlines()[0]}") from error
    if not tokenizer.chat_template:
        raise ScapoError(f"The tokenizer of {model} has no chat template, which the prompt needs.")
    return tokenizer


def load_model(recipe: Recipe) -> Any:
    """The policy in the recipe's dtype. A .gguf file is unpacked to plain weights that can be trained."""
    folder, gguf = _gguf(recipe.model)
    arguments: dict[str, Any] = dict(gguf)
    if gguf:
        from transformers import GgufConfig

        arguments["quantization_config"] = GgufConfig(dequantize=True)
    return AutoModelForCausalLM.from_pretrained(folder, dtype=recipe.dtype, **arguments)


def _gguf(model: str) -> tuple[str, dict[str, str]]:
    path = Path(model)
    return (str(path.parent), {"gguf_file": path.name}) if path.suffix == ".gguf" else (model, {})


def stop_ids(recipe: Recipe, tokenizer: Any, model: Any) -> list[int]:
    """Every id that ends a response: the tokenizer's EOS, the model's own, and the recipe's `stop_tokens`."""
    declared = model.generation_config.eos_token_id
    ids = [tokenizer.eos_token_id, *(declared if isinstance(declared, list) else [declared])]
    known = tokenizer.get_vocab()
    for token in recipe.stop_tokens:
        if token not in known:
            raise ScapoError(
                f"stop_tokens holds {token!r}, which the tokenizer of {recipe.model} does not know."
            )
        ids.append(known[token])
    return list(dict.fromkeys(number for number in ids if number is not None))


def lora_config(recipe: Recipe) -> Any:
    """PEFT's settings for the recipe's `lora` section; None trains all weights."""
    if not recipe.lora:
        return None
    from peft import LoraConfig

    names = {"r": "r", "alpha": "lora_alpha", "dropout": "lora_dropout", "target_modules": "target_modules"}
    return LoraConfig(task_type="CAUSAL_LM", **{names[key]: value for key, value in recipe.lora.items()})
