"""Text from a user appears literally on the terminal."""

import pytest
from rich.table import Table

from tussle.cli._terminal import complain, say, show, show_whole

NAMES = ["my[v2].py:Plain", "[/red]", "[red]cubic[/]", "[link=file:///etc/passwd]x[/link]"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_looks_like_markup_is_shown_literally(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table("flow", name, title=name)
    table.add_row(name, "1")
    show_whole(table)
    show(name)
    assert capsys.readouterr().out.count(name) == 4


def test_control_characters_in_a_refused_name_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    complain("flow \x1b[2J\x07 is not known\nflow b\u202e neither")
    assert capsys.readouterr().err == (
        "tussle: flow \\x1b[2J\\x07 is not known\ntussle: flow b\\u202e neither\n"
    )


def test_control_characters_in_a_result_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say("the claim \x1b[2J holds")
    assert capsys.readouterr().out == "the claim \\x1b[2J holds\n"


def test_an_error_message_keeps_beginning_and_end_of_a_long_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    complain(f'flow "{"x" * 100_000}" is not known')
    sentence = capsys.readouterr().err
    assert sentence.startswith('tussle: flow "xxx')
    assert sentence.endswith('xxx" is not known\n')
    assert len(sentence) < 2000
