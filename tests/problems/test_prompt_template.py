"""The paper's prompt through the tokenizer's chat template, and the length filter."""

import pytest

from scapo.errors import ScapoError
from scapo.problems import Problem, chat_prompt, drop_overlong, prompt_ids, prompt_text, render

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer():
    """One token per word, with a chat template; built here so that nothing is downloaded."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]", chat_template=TEMPLATE)


def test_the_prompt_is_the_papers():
    text = "Why {x}?\n\nPlease reason step by step, and put your final answer within \\boxed{}."
    assert prompt_text("Why {x}?") == prompt_text(Problem("1", "Why {x}?", "2")) == text
    assert chat_prompt("Why {x}?") == [{"role": "user", "content": text}]


def test_the_prompt_is_the_user_turn_ready_for_the_answer(tokenizer):
    rendered = render(tokenizer, "Why?")
    assert rendered == f"<|im_start|>user\n{prompt_text('Why?')}<|im_end|>\n<|im_start|>assistant\n"
    assert len(prompt_ids(tokenizer, "Why?")) == len(rendered.split())


def test_a_tokenizer_without_chat_template_is_refused_in_a_sentence(tokenizer):
    from copy import copy

    bare = copy(tokenizer)
    bare.chat_template = None
    with pytest.raises(ScapoError, match="no chat template"):
        render(bare, "Why?")


def words(count: int) -> str:
    return " ".join(["word"] * count)


def test_problems_with_a_long_prompt_or_rewrite_are_dropped_whole(tokenizer):
    fixed = len(prompt_ids(tokenizer, "x")) - 1
    problems = [
        Problem("fits", words(20), "1", {"perturbations": {"paraphrase": words(20)}}),
        Problem("long", words(10_000), "1"),
        Problem(
            "long rewrite",
            words(5),
            "1",
            {"perturbations": {"typo_noise": words(3), "scenario_wrap": words(21)}},
        ),
    ]
    kept, dropped = drop_overlong(problems, tokenizer, fixed + 20)
    assert kept == problems[:1]
    assert dropped == [("long", fixed + 10_000, "problem"), ("long rewrite", fixed + 21, "scenario_wrap")]
    kept, dropped = drop_overlong(problems, tokenizer, fixed + 20, kinds=["typo_noise"])
    assert [problem.id for problem in kept] == ["fits", "long rewrite"]
