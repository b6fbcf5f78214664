"""A random tiny Qwen3 with a tokenizer trained on the spot, and a dataset of sums with rewrites."""

import copy

import pytest

PROBLEMS = [(f"Add {a} and {b}.", str(a + b)) for a in range(2, 6) for b in range(1, 4)]
TEMPLATE = "{question}\n\nPlease put your answer in \\boxed{{}}."
CHAT = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    """A checkpoint folder: 2 layers, hidden size 32, byte-level vocabulary of 300; random weights, seed 0."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    folder = tmp_path_factory.mktemp("tiny")
    bpe = ByteLevelBPETokenizer()
    texts = [TEMPLATE.format(question=question) for question, _ in PROBLEMS]
    bpe.train_from_iterator(
        texts, vocab_size=300, special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe._tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
    )
    tokenizer.chat_template = CHAT
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        initializer_range=0.2,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    Qwen3ForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture
def tiny_model(tiny_folder):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(tiny_folder, dtype="float32")


@pytest.fixture
def tiny_tokenizer(tiny_folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny_folder)


def rewrites(question):
    return {
        "paraphrase": question.replace("Add", "Sum up"),
        "typo_noise": question.replace("and", "adn"),
        "scenario_wrap": f"At the market: {question}",
        "irrelevant_context": f"{question} [tag: mx93q]",
        "counterfactual": question.replace("and 1", "and 7")
        .replace("and 2", "and 8")
        .replace("and 3", "and 9"),
    }


@pytest.fixture
def rows(shared_rows):
    return copy.deepcopy(shared_rows)


@pytest.fixture(scope="session")
def shared_rows():
    """Chat prompts with the template around the problem; perturbations are bare problem texts."""
    return [
        {
            "id": f"p{i}",
            "prompt": [{"role": "user", "content": TEMPLATE.format(question=question)}],
            "problem": question,
            "answer": answer,
            "perturbations": rewrites(question),
        }
        for i, (question, answer) in enumerate(PROBLEMS)
    ]


@pytest.fixture
def settings(tmp_path):
    """Settings of a small, exact run; override any of them."""

    def make(**changes):
        return {
            "output_dir": str(tmp_path / "run"),
            "use_cpu": True,
            "bf16": False,
            "gradient_checkpointing": False,
            "learning_rate": 1e-3,
            "num_generations": 4,
            "per_device_train_batch_size": 8,
            "steps_per_generation": 2,
            "gradient_accumulation_steps": 1,
            "max_completion_length": 12,
            "max_steps": 2,
            "save_strategy": "no",
            "report_to": "none",
            "disable_tqdm": True,
            "dataloader_pin_memory": False,
        } | changes

    return make


def digit_reward(completions, **kwargs):
    """Rewards a response for holding many letters e: varied for random text, and cheap."""
    return [float(sum(ch in "aeiou" for ch in c[0]["content"]) % 3 == 0) for c in completions]


@pytest.fixture
def reward():
    return digit_reward


@pytest.fixture
def problem_file(tmp_path):
    """Perturbed problems as `scapo perturb` writes them."""
    import json

    path = tmp_path / "train.perturbed.jsonl"
    with path.open("w") as file:
        for i, (question, answer) in enumerate(PROBLEMS):
            row = {"id": f"p{i}", "problem": question, "answer": answer, "perturbations": rewrites(question)}
            file.write(json.dumps(row) + "\n")
    return path


@pytest.fixture
def recipe_file(tmp_path, tiny_folder, problem_file):
    """A small recipe with every section."""
    path = tmp_path / "recipe.yaml"
    path.write_text(
        f"""label: SCAPO
model: {tiny_folder}
threads: 1
train: {{path: {problem_file}}}
method: {{lambda_0: 0.01, n_0: 4}}
rollout: {{prompts: 4, responses: 4, updates: 2, micro_batch: 8, max_tokens: 12}}
trainer: {{max_steps: 4, learning_rate: 1e-3, bf16: false, gradient_checkpointing: false, save_steps: 1}}
"""
    )
    return path
