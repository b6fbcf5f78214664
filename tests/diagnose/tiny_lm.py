"""Tokenizers and a random model made on the spot, and a file of sums with rewrites."""

from pathlib import Path
from typing import Any

from scapo.files import write_jsonl

CHAT = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEXTS = ["Add 2 and 3. Please put your answer in \\boxed{5}.", "so we wait and check again, however"] * 3


def byte_level(vocabulary: int = 300) -> Any:
    """Byte-level BPE: a character of several bytes may be several tokens."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(TEXTS, vocab_size=vocabulary, special_tokens=SPECIAL, show_progress=False)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe._tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = CHAT
    return tokenizer


def sentence_piece() -> Any:
    """SentencePiece style: a leading space belongs to its piece, unknown bytes fall back to <0xE2>."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces = ["<unk>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁"]
    pieces += ["▁so", "▁wait", ",", "▁7", "a", "t", "so", "▁a"]
    model = models.BPE(
        vocab={piece: place for place, piece in enumerate(pieces)},
        merges=[], unk_token="<unk>", byte_fallback=True,
    )  # fmt: skip
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", unk_token="<unk>")


def save_model(folder: Path, tokenizer: Any, context: int = 256) -> Path:
    """A random Qwen3 of 2 layers and hidden size 32 in `folder`."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=context,
        tie_word_embeddings=True,
        initializer_range=0.2,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    Qwen3ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def problem_rows(count: int, kinds: tuple[str, ...] = ("paraphrase", "typo_noise")) -> list[dict[str, Any]]:
    texts = {
        "paraphrase": "Sum up {a} and 3.",
        "typo_noise": "Add {a} adn 3.",
        "scenario_wrap": "At the market: Add {a} and 3.",
        "irrelevant_context": "Add {a} and 3. [tag: mx93q]",
    }
    return [
        {
            "id": f"sum-{a}",
            "problem": f"Add {a} and 3.",
            "answer": str(a + 3),
            "perturbations": {kind: texts[kind].format(a=a) for kind in kinds},
        }
        for a in range(count)
    ]


def write_problems(path: Path, count: int, **options: Any) -> Path:
    write_jsonl(path, problem_rows(count, **options))
    return path
