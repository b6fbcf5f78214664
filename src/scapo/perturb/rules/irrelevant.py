"""`irrelevant_context`: the text unchanged, and a meaningless tail."""

import random
import string

from scapo.perturb.lexicon import lines, word_list
from scapo.perturb.words import is_english

_CONSONANTS = "bcdfghjklmnpqrstvwxz"
_LABELS = ("tag", "ref", "mark", "label", "marker", "id", "slot", "item")
_TAGS = ("[{label}: {code}]", "[{label}-{code}]", "[{code}]", "({label} {code})", "[#{code}]")
_FINISHED = (".", "?", "!", ".)", "?)", '."', '?"', ".$", "?$", ".\\]")


def irrelevant_context(problem: str, generator: random.Random) -> str | None:
    """Append a tautology, a random string or a bracket tag; in a text that is not English only the last two.

    After a text without a final full stop only a tag is used: it can't be read as the sentence's next word.
    """
    if not problem.strip():
        return None
    makers = [_tag, _tag]
    if problem.rstrip().endswith(_FINISHED):
        makers += [_random_string, _random_string]
        makers += [_tautology, _tautology] if is_english(problem) else []
    tail = generator.choice(makers)(problem, generator)
    return problem + ("" if problem[-1].isspace() else " ") + tail


def _tautology(problem: str, generator: random.Random) -> str:
    """'Quiet things are quiet.', with a word that the problem does not use."""
    text = problem.lower()
    noun, adjective = (
        _unused("neutral_nouns", text, generator),
        _unused("neutral_adjectives", text, generator),
    )
    article = "an" if noun[0] in "aeiou" else "a"
    shape = generator.choice(lines("tautologies"))
    for name, word in {
        "{an}": f"{article} {noun}",
        "{An}": f"{article.capitalize()} {noun}",
        "{a}": adjective,
        "{A}": adjective.capitalize(),
    }.items():
        shape = shape.replace(name, word)
    return shape


def _unused(name: str, text: str, generator: random.Random) -> str:
    words = sorted(word_list(name))
    return generator.choice([word for word in words if word not in text] or words)


def _random_string(problem: str, generator: random.Random) -> str:
    """6 to 12 letters of mixed case with at most two digits inside: no word, no number."""
    size = generator.randint(6, 12)
    letters = [generator.choice(_CONSONANTS) for _ in range(size)]
    letters = [letter.upper() if generator.random() < 0.4 else letter for letter in letters]
    for at in generator.sample(range(1, size - 1), generator.choice((0, 0, 1, 2))):
        letters[at] = generator.choice(string.digits)
    return "".join(letters)


def _tag(problem: str, generator: random.Random) -> str:
    """A decorative tag such as '[tag: mx93q]'."""
    code = generator.choice(_CONSONANTS) + "".join(
        generator.choice(_CONSONANTS + string.digits) for _ in range(generator.randint(2, 4))
    )
    code += generator.choice(_CONSONANTS)
    return generator.choice(_TAGS).format(label=generator.choice(_LABELS), code=code)
