"""One problem of a benchmark as it is asked and judged."""

from dataclasses import dataclass, field
from typing import Any

from scapo.evaluate.benchmarks import Grader
from scapo.evaluate.choice import gold_letter, grade_choice, question_text
from scapo.evaluate.several import grade_answers
from scapo.problems import prompt_text
from scapo.reward import Score, score


@dataclass(frozen=True, kw_only=True)
class Item:
    """`answer` is the gold (of a choice: the right option's text); `extra` is for the grader."""

    id: str
    problem: str
    answer: str
    grader: Grader = "answer"
    extra: dict[str, Any] = field(default_factory=dict)

    def prompt(self, sample: int) -> str:
        """The user turn; only a choice depends on the sample (its option order)."""
        if self.grader == "choice":
            return prompt_text(question_text(self.problem, self.answer, self.extra["wrong"], sample))
        return prompt_text(self.problem)

    def gold(self, sample: int) -> str:
        if self.grader == "choice":
            return gold_letter(self.problem, self.answer, self.extra["wrong"], sample)
        return self.answer

    def grade(self, completion: str, sample: int) -> Score:
        """Score a completion: pure, any thread."""
        if self.grader == "choice":
            return grade_choice(completion, self.gold(sample))
        if self.grader == "answers":
            return grade_answers(completion, self.answer, **self.extra)
        return score(completion, self.answer)
