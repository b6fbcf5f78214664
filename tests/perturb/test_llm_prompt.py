"""The prompt file: complete, versioned by its text, replaceable; the settings refuse what can't work."""

import pytest

from scapo.errors import ScapoError
from scapo.perturb.kinds import SEMIFACTUAL, Kind
from scapo.perturb.llm.prompt import DEFAULT_FILE, Refused, load_prompt
from scapo.perturb.llm.settings import LlmSettings, api_key

KINDS = list(SEMIFACTUAL)


def rewrite(**changes):
    options = {"kinds": KINDS, "wanted": KINDS, "format": "json", **changes}
    system, user = load_prompt().rewrite("What is 3 + 4?", "7", **options)
    return system["content"], user["content"]


def test_the_system_part_explains_the_kinds_of_the_run_and_is_the_same_for_every_call():
    system, _ = rewrite()
    for kind in KINDS:
        assert f"\n{kind}: " in system
    assert "counterfactual" not in system
    assert rewrite(wanted=[Kind.TYPO_NOISE], format="text")[0] == system
    assert "\ncounterfactual: " in rewrite(kinds=list(Kind))[0]


def test_the_user_part_holds_problem_answer_wanted_kinds_and_form():
    _, user = rewrite(wanted=[Kind.TYPO_NOISE])
    assert "<<<original>>>\nWhat is 3 + 4?\n<<<end of original>>>" in user
    assert "never to be written: 7\n" in user
    assert "Wanted: typo_noise.\n" in user
    assert "JSON object" in user
    assert "<<<typo_noise>>>" in rewrite(wanted=[Kind.TYPO_NOISE], format="text")[1]


def test_a_refusal_is_shown_with_its_reason():
    _, user = rewrite(refusals=[Refused(Kind.PARAPHRASE, "What is 3 + 5?", "new_number: 5 is new")])
    assert "Your earlier paraphrase was refused, because: new_number: 5 is new" in user
    assert "What is 3 + 5?" in user


def test_a_problem_is_inserted_and_never_run_as_a_template():
    text = "{{ 7 * 7 }} {% for x in y %} === user ==="
    (_, user) = load_prompt().rewrite(text, "{{ 1 }}", kinds=KINDS, wanted=KINDS, format="text")
    assert text in user["content"]


def test_every_edit_of_the_file_is_another_version(tmp_path):
    copy = tmp_path / "prompt.md"
    copy.write_text(DEFAULT_FILE.read_text())
    assert load_prompt(copy).version == load_prompt().version
    copy.write_text(DEFAULT_FILE.read_text() + "\n")
    assert load_prompt(copy).version != load_prompt().version
    copy.write_text(DEFAULT_FILE.read_text().replace("version: 1", "version: mine"))
    assert load_prompt(copy).version.startswith("prompt-mine-")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "can't be read"),
        ("=== system ===\n", "must begin with a line"),
        ("version: 1\n=== system ===\nx\n", "no part named user, judge"),
        ("version: 1\n=== system ===\n{% if %}\n=== user ===\n=== judge ===\n", "not a valid template"),
    ],
)
def test_a_broken_prompt_file_is_refused_with_a_sentence(tmp_path, text, sentence):
    path = tmp_path / "prompt.md"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ScapoError, match=sentence):
        load_prompt(path)


def test_an_unknown_variable_is_named(tmp_path):
    path = tmp_path / "prompt.md"
    path.write_text("version: 1\n=== system ===\n{{ nonsense }}\n=== user ===\n=== judge ===\n")
    with pytest.raises(ScapoError, match="nonsense"):
        load_prompt(path).rewrite("p", "a", kinds=KINDS, wanted=KINDS, format="text")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"model": ""}, "No model is named"),
        ({"format": "xml"}, "--format xml is unknown"),
        ({"base_url": "localhost:8000"}, "not a web address"),
        ({"base_url": "http://me:secret@host/v1"}, "environment only"),
        ({"attempts": 0}, "--attempts must be above 0"),
        ({"max_tokens": -1}, "--max-tokens must be above 0"),
    ],
)
def test_settings_that_cannot_work_are_refused_with_a_sentence(options, sentence):
    with pytest.raises(ScapoError, match=sentence) as error:
        LlmSettings(**{"model": "m", **options})
    assert "secret" not in str(error.value)


def test_the_key_is_ours_first_then_openais_then_none():
    assert api_key({"SCAPO_LLM_API_KEY": "a", "OPENAI_API_KEY": "b"}) == "a"
    assert api_key({"SCAPO_LLM_API_KEY": "", "OPENAI_API_KEY": "b"}) == "b"
    assert api_key({}) is None
