"""NoOp variants by rule: a sentence about something else, with a number that changes nothing."""

import hashlib
import random

from scapo.evaluate.variants.insertion import check_noop, content_words
from scapo.perturb.words import is_english

RULES_VERSION = "1"
ATTEMPTS = 40
SENTENCES = (
    "A poster in the hallway shows {n} birds.",
    "The library down the street keeps {n} old maps in a drawer.",
    "Outside, {n} bicycles stand beside the fence.",
    "A neighbor once collected {n} postcards from abroad.",
    "The bakery next door sold {n} muffins that morning.",
    "Last spring a gardener planted {n} tulips behind the town hall.",
    "The old clock in the tower has been repaired {n} times.",
    "A cupboard in the office holds {n} unused folders.",
    "The museum near the station owns {n} paintings of boats.",
    "Someone left {n} umbrellas in the lobby during the rain.",
    "A documentary about whales lasts {n} minutes.",
    "The choir practised for {n} days before its concert.",
    "A farmer down the road keeps {n} sheep.",
    "The harbor had {n} visitors on a windy afternoon.",
    "A drawer in the kitchen holds {n} wooden spoons.",
    "The newspaper printed {n} photographs of a storm.",
)


def noop_sentence(problem: str, answer: str, seed: int) -> str | None:
    """A sentence that shares no content word with the problem and passes the checks; None if there is none.

    A pure function of its arguments. Sharing no content word is what makes "changes nothing" certain.
    """
    if not is_english(problem):
        return None
    rng = _generator(problem, seed)
    words = content_words(problem)
    unrelated = [sentence for sentence in SENTENCES if not content_words(sentence) & words]
    for _ in range(ATTEMPTS if unrelated else 0):
        sentence = rng.choice(unrelated).format(n=rng.randint(3, 98))
        if check_noop(problem, sentence, answer) is None:
            return sentence
    return None


def _generator(problem: str, seed: int) -> random.Random:
    key = "\x1f".join(("noop", RULES_VERSION, str(seed), problem))
    return random.Random(int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest(), "big"))
