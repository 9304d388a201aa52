"""`make setup` reports missing programs and their installation."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OLD_PYTHON = "#!/bin/sh\n[ $1 = --version ] && echo Python 3.10.12\nexit 1\n"


@pytest.fixture
def tools(tmp_path) -> Path:
    """A folder with all required programs and no others, used as PATH."""
    for name in ["bash", "cut", "head", "sed", "sort"]:
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    (tmp_path / "python3").symlink_to(sys.executable)
    replace(tmp_path / "cargo", "#!/bin/sh\n")
    replace(tmp_path / "rustc", "#!/bin/sh\necho rustc 1.999.0\n")
    replace(tmp_path / "cc", "#!/bin/sh\n")
    return tmp_path


def replace(tool: Path, script: str) -> None:
    tool.unlink(missing_ok=True)
    tool.write_text(script)
    tool.chmod(0o755)


def complaint(tools: Path) -> str:
    environment = {"PATH": str(tools), "HOME": os.environ.get("HOME", "/")}
    script = ROOT / "tools" / "prerequisites.sh"
    result = subprocess.run(
        [tools / "bash", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (result.returncode == 0) == (result.stderr == "")
    return result.stderr


def test_complete_prerequisites_print_no_message(tools):
    assert complaint(tools) == ""


@pytest.mark.parametrize(
    ("tool", "script", "message", "advised"),
    [
        ("python3", None, "there is no python3", "python3-venv"),
        ("python3", OLD_PYTHON, "Python 3.10.12 is too old", "PYTHON="),
        ("cargo", None, "no Rust compiler", "rustup"),
        ("rustc", "#!/bin/sh\necho rustc 1.70.0\n", "Rust 1.70.0 is too old", "rustup update stable"),
        ("cc", None, "no C compiler", "gcc"),
    ],
)
def test_a_missing_or_outdated_program_is_named_with_its_installation(tools, tool, script, message, advised):
    (tools / tool).unlink()
    if script:
        replace(tools / tool, script)
    complained = complaint(tools)
    assert message in complained
    assert advised in complained


def test_all_missing_programs_are_named_at_once(tools):
    for tool in ["cargo", "cc"]:
        (tools / tool).unlink()
    assert complaint(tools).count("make setup: ") == 2
