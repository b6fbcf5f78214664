"""One added sentence with a number that changes nothing: where it goes, and the checks it must pass."""

import re

from scapo.perturb.checks import Refusal
from scapo.perturb.checks.shared import answer_leak, bad_text
from scapo.perturb.lexicon import word_list
from scapo.perturb.spans import SpanKind, number_spans, spans, word_spans

MAX_WORDS = 30
_SENTENCE_END = re.compile(r"[.?!]['\"”’)]*(\s+)(?=[A-Z$\\\"“(])")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|vs|etc|e\.g|i\.e|No|Fig|[A-Z])\.$")


def insert(problem: str, sentence: str) -> str:
    """Put the sentence before the last sentence of the problem (the question), outside math."""
    place = question_start(problem)
    return f"{problem[:place]}{sentence.strip()} {problem[place:]}"


def question_start(problem: str) -> int:
    """Where the last sentence begins; 0 for a problem of one sentence."""
    math = [span for span in spans(problem) if span.kind is SpanKind.MATH]
    starts = [
        match.end()
        for match in _SENTENCE_END.finditer(problem.rstrip())
        if not _ABBREVIATION.search(problem, 0, match.start() + 1)
        and not any(span.start <= match.start() < span.end for span in math)
    ]
    return starts[-1] if starts else 0


def check_noop(original: str, sentence: str, answer: str) -> Refusal | None:
    """Why the sentence may not be added; None when it is one plain statement with exactly one new number."""
    text = insert(original, sentence)
    found = spans(sentence)
    numbers = number_spans(sentence)
    if refusal := bad_text(original, text) or answer_leak(original, text, answer):
        return refusal
    if any(span.kind is SpanKind.MATH for span in found):
        return Refusal("new_math", "The added sentence holds math.")
    if len(numbers) != 1:
        return Refusal("number_count", f"The added sentence holds {len(numbers)} numbers instead of one.")
    if numbers[0].value in {span.value for span in number_spans(original)} or _in_math(
        original, numbers[0].text
    ):
        return Refusal("known_number", f"The number {numbers[0].text} stands in the problem already.")
    if len(found) > MAX_WORDS or not re.fullmatch(r"[^.?!]+\.", sentence.strip()):
        return Refusal(
            "not_one_sentence", "The addition is not one short statement that ends in a full stop."
        )
    forbidden = sorted({span.text.lower() for span in found} & _forbidden())
    if forbidden:
        return Refusal("forbidden_word", f"The added sentence may be a condition: it says '{forbidden[0]}'.")
    return None


def _in_math(problem: str, number: str) -> bool:
    return bool(re.search(rf"(?<!\d){re.escape(number)}(?!\d)", problem))


def _forbidden() -> frozenset[str]:
    """Words that make a sentence a condition, a question or a hint."""
    conditions = {
        "if",
        "when",
        "where",
        "such",
        "let",
        "given",
        "so",
        "then",
        "instead",
        "also",
        "find",
        "what",
        "how",
    }
    return frozenset((word_list("frame_forbidden") | conditions) - {"number", "numbers"})


def content_words(text: str) -> set[str]:
    return {span.text.lower().rstrip("s") for span in word_spans(text)} - word_list("function_words")
