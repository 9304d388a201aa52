"""Tussle's patches are applied to a source completely or not at all."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tussle.errors import TussleError
from tussle.kernel.patches import Edit, Patch, PatchedSource, patches
from tussle.kernel.source import SourceFile

TWO_EDITS = Patch("room", (Edit("a.c", "size = 1;", "size = 2;", times=2), Edit("b.h", "old", "new")), "")


@dataclass
class TextSource:
    """A source whose files are given as texts."""

    texts: dict[str, str]
    name: str = "linux-6.1"
    short_name: str = "linux-6.1"

    def digest(self) -> str:
        return hashlib.sha256(repr(self.texts).encode()).hexdigest()

    def files(self, report: Callable[[float], None]) -> Iterator[SourceFile]:
        report(1.0)
        yield from (SourceFile(path, 0o100644, text.encode()) for path, text in self.texts.items())


def patched(**texts: str) -> tuple[dict[str, str], list[str]]:
    source = PatchedSource(
        TextSource({path.replace("_", "."): text for path, text in texts.items()}), [TWO_EDITS]
    )
    given = {file.path: file.content.decode() for file in source.files(lambda _: None)}
    return given, [patch.name for patch in source.applied]


def test_every_occurrence_is_edited_and_other_files_are_unchanged():
    given, applied = patched(b_h="old", a_c="size = 1; size = 1;", c_h="old")
    assert given == {"a.c": "size = 2; size = 2;", "b.h": "new", "c.h": "old"}
    assert applied == ["room"]


@pytest.mark.parametrize("b_h", ["", "old"])
def test_a_source_without_the_text_of_the_first_edit_is_unchanged(b_h: str):
    given, applied = patched(a_c="size = host();", b_h=b_h)
    assert given == {"a.c": "size = host();", "b.h": b_h}
    assert applied == []


@pytest.mark.parametrize("b_h", ["", "old old"])
def test_a_source_that_fits_a_part_of_a_patch_is_refused(b_h: str):
    with pytest.raises(
        TussleError, match=r"only a part .* fits linux-6.1: its .*b\.h does not have 'old' 1 times"
    ):
        patched(a_c="size = 1; size = 1;", b_h=b_h)


def test_added_files_follow_the_source_and_do_not_change_its_digest():
    source_files = TextSource({"a.c": "whatever"})
    added = SourceFile("drivers/net/tussle/Makefile", 0o100644, b"obj-y += tussle.o\n")
    source = PatchedSource(source_files, [TWO_EDITS], [added])
    assert [file.path for file in source.files(lambda _: None)] == ["a.c", added.path]
    assert source.digest() == source_files.digest()


def test_the_digest_is_that_of_the_source_alone():
    source_files = TextSource({"a.c": "size = 1; size = 1;", "b.h": "old"})
    assert PatchedSource(source_files, [TWO_EDITS]).digest() == source_files.digest()


def test_each_patch_has_edits_and_the_digest_of_its_file():
    assert [patch.name for patch in patches()] == [
        "allocator",
        "clock",
        "clock_offset",
        "code_model",
        "driver",
        "headers",
        "hosts",
        "idle",
        "payload",
        "process_id",
        "sndbuf",
        "thread_pointer",
        "timers",
        "xstate",
    ]
    for patch in patches():
        assert patch.edits
        assert len(bytes.fromhex(patch.digest)) == 32
