"""The manual page has every command and option, and no formatter complains about it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import man_page  # noqa: E402
from commands import commands  # noqa: E402

STORED = ROOT / "packaging" / "data" / "share" / "man" / "man1" / "tussle.1"


def test_the_stored_page_is_that_of_the_code():
    assert STORED.read_text("utf-8") == man_page.page()


def test_a_formatter_shows_every_command_option_and_default_without_a_warning():
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed; `man` needs it")
    options = ["-man", "-ww", "-K", "utf8", "-Tutf8", "-P-c", "-P-b", "-P-u", "-P-o", "-rLL=1000n", "-rHY=0"]
    done = subprocess.run([groff, *options, STORED], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    shown = " ".join(re.sub(".\b", "", done.stdout).split()).replace("\N{HYPHEN}", "-")
    for command in commands():
        assert command.usage in shown
        for each in command.parameters:
            assert each.spelling in shown
            assert " ".join(each.about.replace("`", "").split()) in shown
            assert each.default in shown


@pytest.mark.parametrize("text", [".so /etc/passwd", "'tis", "a\\nb"])
def test_no_text_is_taken_for_a_request(text: str):
    escaped = man_page._escaped(text)
    assert not escaped.startswith((".", "'"))
    assert "\\n" not in escaped.replace("\\en", "")
