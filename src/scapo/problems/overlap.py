"""Find evaluation problems that are in the training set: copies, re-wrapped copies, light paraphrases.

Two texts overlap when they are the same but for case, spacing and punctuation, or when they share a large part
of their 8-grams of words, digits and signs. Rewrites count like the problems themselves.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from scapo.problems.row import Problem

GRAM = 8
COMMON = 10
"""8-grams in more training problems than this are stock phrases ("m and n are relatively prime ...")."""
MIN_SHARE = 0.2
"""Of the shorter text's remaining 8-grams."""

_TOKEN = re.compile(r"\\?[a-z]+|\w|[^\s\w]")
_PUNCTUATION = frozenset(".,;:!?\"'`$()")


class Overlap(NamedTuple):
    """One evaluation problem found in the training set; `share` of common 8-grams, 1.0 for the same text."""

    evaluation: str
    evaluation_id: str
    evaluation_text: str
    train_id: str
    train_text: str
    share: float
    exact: bool


def find_overlaps(
    train: Sequence[Problem], evaluations: Mapping[str, Sequence[Problem]], min_share: float = MIN_SHARE
) -> list[Overlap]:
    """The closest training text of every evaluation problem that overlaps, in the evaluations' order.

    `evaluation_text` and `train_text` say which text it was: `problem` or a kind of rewrite.
    """
    index = _Index(train)
    found = []
    for name, problems in evaluations.items():
        for problem in problems:
            hits = (
                Overlap(name, problem.id, which, *hit)
                for which, text in texts_of(problem)
                for hit in index.closest(text, min_share)
            )
            if best := max(hits, key=lambda hit: (hit.exact, hit.share), default=None):
                found.append(best)
    return found


def texts_of(problem: Problem) -> Iterator[tuple[str, str]]:
    """(`problem` or kind, text) of a problem and its rewrites."""
    yield "problem", problem.problem
    yield from problem.perturbations.items()


class _Index:
    """Training texts by their plain words and by their 8-grams."""

    def __init__(self, train: Sequence[Problem]) -> None:
        self.texts = [(problem.id, which, text) for problem in train for which, text in texts_of(problem)]
        self.by_words = {_words(text): at for at, (_, _, text) in reversed(list(enumerate(self.texts)))}
        self.grams = [_grams(text) for _, _, text in self.texts]
        holders: dict[int, set[str]] = defaultdict(set)
        self.by_gram: dict[int, list[int]] = defaultdict(list)
        for at, ((problem_id, _, _), grams) in enumerate(zip(self.texts, self.grams, strict=True)):
            for gram in grams:
                holders[gram].add(problem_id)
                self.by_gram[gram].append(at)
        self.common = {gram for gram, ids in holders.items() if len(ids) > COMMON}

    def closest(self, text: str, min_share: float) -> Iterator[tuple[str, str, float, bool]]:
        """(train id, which text, share, exact) of the closest training text, if it is close enough."""
        if (same := self.by_words.get(_words(text))) is not None:
            yield *self.texts[same][:2], 1.0, True
            return
        grams = _grams(text) - self.common
        shared = Counter(at for gram in grams for at in self.by_gram.get(gram, ()))
        shares = ((n / min(len(grams), len(self.grams[at] - self.common)), at) for at, n in shared.items())
        share, at = max(shares, key=lambda pair: (pair[0], -pair[1]), default=(0.0, 0))
        if share >= min_share and share > 0:
            yield *self.texts[at][:2], share, False


def _words(text: str) -> str:
    return " ".join(token for token in _TOKEN.findall(text.casefold()) if token not in _PUNCTUATION)


def _grams(text: str) -> set[int]:
    tokens = _TOKEN.findall(text.casefold())
    return {hash(tuple(tokens[at : at + GRAM])) for at in range(len(tokens) - GRAM + 1)}
