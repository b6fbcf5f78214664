"""Which characters chose the operation, by examples made by hand."""

import pytest

from scapo.problems.world.spans import shortcut_spans


def row(operations, scene_operation):
    return {"world": {"operations": operations, "scene_operation": scene_operation}}


def marked(completion, spans):
    return [(completion[span.start : span.stop], span.followed_scene, span.step) for span in spans]


@pytest.mark.parametrize(
    ("operations", "scene", "completion", "expected"),
    [
        # the scene says subtract, the verb add
        (["add"], "subtract", r"We start with 12 cups. So 12-5=7. \boxed{7}.", [("-", True, 0)]),
        (["add"], "subtract", r"We start with 12 cups. So 12+5=17. \boxed{17}.", [("+", False, 0)]),
        # wrong, but not what the scene says
        (["add"], "subtract", "12*5=60", [("*", False, 0)]),
        # agreeing scene, no scene: nothing can follow the scene against the verb
        (["add"], "add", "12+5=17", [("+", False, 0)]),
        (["add"], None, "12-5=7", [("-", False, 0)]),
        # only the first step hears the scene: the second minus is a slip
        (["add", "multiply"], "subtract", "So 12-5=7. Then 7-2=5.", [("-", True, 0), ("-", False, 1)]),
        (["add", "subtract"], "subtract", "So 12+5=17. Then 17-2=15.", [("+", False, 0), ("-", False, 1)]),
        # spaces, other signs, further equations, none at all
        (["divide"], "multiply", "12 × 5 = 60 and 60 - 1 = 59", [("×", True, 0)]),
        (["add"], "subtract", "The answer is 5-3 or so.", []),
        (["add"], "subtract", "", []),
    ],
)
def test_operator_spans(operations, scene, completion, expected):
    assert marked(completion, shortcut_spans(row(operations, scene), completion)) == expected


def test_spans_are_character_offsets():
    (span,) = shortcut_spans(row(["add"], "subtract"), "So 12-5=7.")
    assert (span.start, span.stop, span.operation) == (5, 6, "subtract")


def test_a_long_run_of_digits_takes_no_time():
    assert shortcut_spans(row(["add"], "subtract"), "1" * 200_000 + "+") == []
