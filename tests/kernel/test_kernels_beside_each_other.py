"""`--kernel A,B`: several kernels as an axis, through the command."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from commandline import refused
from tussle.dataset import Dataset
from tussle.kernel import Kernel, kernel_names
from tussle.papers import Study

TUSSLE = Path(sys.executable).with_name("tussle")
TWO = 2
STUDY = ("paper", "lan-pairs", "--part", "matrix", "--quick", "--engine", "kernel")
PAIRS = ("--algorithms", "reno,lp", "--duration", "6 s", "--stagger", "1 s", "--repetitions", "1")


@pytest.fixture
def copies(kernel: Kernel, tmp_path: Path) -> dict[str, str]:
    """An environment with one kernel under two names: any difference between their results is a defect."""
    built = tmp_path / "cache" / "kernel" / "built"
    for name in ("one", "other"):
        shutil.copytree(kernel.image.parent, built / name)
    return os.environ | {"TUSSLE_CACHE": str(tmp_path / "cache")}


def call(folder: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TUSSLE, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_equal_kernels_have_equal_results_under_both_names(tmp_path: Path, copies: dict[str, str]):
    chosen = ("--engine", "kernel", "--kernel", "one,other")
    made = call(tmp_path, copies, "matrix", *PAIRS, *chosen, "-o", "out")
    assert made.returncode == 0, made.stderr
    assert "kernel = one" in made.stdout
    assert "kernel = other" in made.stdout
    assert "`tussle compare out`" in made.stderr
    dataset = Dataset.open(tmp_path / "out")
    assert dataset.provenance["engine"]["kernel"] == "one,other"
    assert "--kernel one,other" in dataset.provenance["command"]
    assert "All 12 results are the same." in (tmp_path / "out" / "report.html").read_text("utf-8")
    compared = call(tmp_path, copies, "compare", "out", "--metric", "jain")
    assert (compared.returncode, "kernel: A is one, B is other" in compared.stdout) == (0, True)


def test_the_page_of_a_study_shows_each_kernel(tmp_path: Path, copies: dict[str, str]):
    made = call(tmp_path, copies, *STUDY, "--algorithms", "vegas", "--kernel", "one,other", "-o", "lan")
    assert made.returncode == 0, made.stderr
    page = (tmp_path / "lan" / "index.html").read_text("utf-8")
    assert 'id="kernel-one-matrix"' in page
    assert 'id="kernel-other-matrix"' in page
    assert "<th>one<th>difference<th>other<th>difference" in page
    assert "--engine kernel --kernel one,other" in page


def test_kernels_that_are_named_one_by_one_stand_beside_each_other(tmp_path: Path, copies: dict[str, str]):
    for name, algorithms in (("one", "vegas"), ("other", "reno")):
        chosen = ("--kernel", name, "--algorithms", algorithms)
        assert call(tmp_path, copies, *STUDY, "-o", "lan", *chosen).returncode == 0
    page = (tmp_path / "lan" / "index.html").read_text("utf-8")
    assert "<th>one<th>difference<th>other<th>difference" in page
    for name, algorithms in (("one", "vegas"), ("other", "reno")):
        words = f"--quick --algorithms {algorithms} --part matrix --engine kernel --kernel {name}"
        assert f"tussle paper lan-pairs {words}" in page


def test_results_of_one_kernel_are_not_continued_with_another(tmp_path: Path, copies: dict[str, str]):
    study = (*STUDY, "--algorithms", "vegas")
    assert call(tmp_path, copies | {"TUSSLE_KERNEL": "one"}, *study).returncode == 0
    other = call(tmp_path, copies | {"TUSSLE_KERNEL": "other"}, *study)
    assert "holds results of the kernel one" in other.stderr


def test_the_simulator_is_compared_with_each_kernel(tmp_path: Path, copies: dict[str, str]):
    cells = ("agree", "--algorithms", "reno", "--cells", "1")
    made = call(tmp_path, copies, *cells, "--kernel", "one,other", "-o", "agree")
    assert made.returncode in (0, 1), made.stderr
    titles = [line.strip() for line in made.stdout.splitlines() if line.strip().startswith("simulator and")]
    assert titles == ["simulator and one", "simulator and other"]
    for name in ("one", "other"):
        page = (tmp_path / "agree" / f"kernel-{name}" / "index.html").read_text("utf-8")
        assert f"Do simulator and {name} agree?" in page
        assert "--kernel one,other" in page


@pytest.fixture
def releases() -> str:
    """The kernels 6.1 and 6.12, as `--kernel` takes them; without one of them the test is skipped."""
    names = [name for name in ("linux-6.1", "linux-6.12") if name in kernel_names()]
    if len(names) < TWO:
        pytest.skip(f"linux-6.1 and linux-6.12 are needed, and there {names or 'is neither'}")
    return ",".join(names)


def test_each_kernel_keeps_the_receive_window_of_a_scenario(tmp_path: Path, releases: str):
    (tmp_path / "window.toml").write_text(
        """
        duration = "5 s"
        path = { rate = "20 Mbit/s", rtt = "20 ms", queue.limit = "1 bdp" }
        hosts.receive_window = "20 kB"
        flows = [{ algorithm = "cubic" }]
        """
    )
    made = call(tmp_path, dict(os.environ), "run", "window.toml", "--engine", "kernel", "--kernel", releases)
    assert made.returncode == 0, made.stderr
    samples = Dataset.open(tmp_path / "results" / "window").samples
    largest = samples.group_by("run").agg(pl.col("in_flight_packets").max()).collect()
    # 20 kB are 13.8 packets of 1448 bytes.
    assert largest["in_flight_packets"].to_list() == [13, 13]


@pytest.mark.parametrize(("release", "window"), [("linux-6.1", "3.15 MB"), ("linux-6.12", "3.76 MB")])
def test_each_kernel_has_the_receive_window_that_pages_of_today_state(
    tmp_path: Path, release: str, window: str
):
    """Linux 6.1 makes a half of 6 MiB window, and Linux 6.12 the part of payload in a packet's memory."""
    if release not in kernel_names():
        pytest.skip(f"{release} is needed, and is not built")
    (tmp_path / "buffer.toml").write_text(
        """
        duration = "5 s"
        path = { rate = "200 Mbit/s", rtt = "200 ms", queue.limit = "1 bdp" }
        hosts = { profile = "linux-6.12", wmem = "unlimited" }
        flows = [{ algorithm = "reno" }]
        """
    )
    chosen = ("--engine", "kernel", "--kernel", release)
    made = call(tmp_path, dict(os.environ), "run", "buffer.toml", "-o", "out", *chosen)
    assert made.returncode == 0, made.stderr
    window_bytes = pl.col("tcp_info.snd_wnd_bytes").max()
    largest = Dataset.open(tmp_path / "out").samples.select(window_bytes).collect()
    assert f"{largest.item() / 1e6:.2f} MB" == window
    for study in ("buffer-provisioning-today", "linux-variants-today"):
        [cause] = [each for each in Study.load(study).causes if "receive window" in each]
        assert window in cause


def test_two_kernels_repeat_to_the_byte(tmp_path: Path, releases: str):
    chosen = ("--engine", "kernel", "--kernel", releases, "--profile", "lan")
    for folder in ("once", "again"):
        made = call(tmp_path, dict(os.environ), "matrix", *PAIRS, *chosen, "-o", folder)
        assert made.returncode == 0, made.stderr
    once, again = (Dataset.open(tmp_path / folder).provenance for folder in ("once", "again"))
    assert once["digest"] == again["digest"]
    found = [once["engine"][f"{name} release"] for name in releases.split(",")]
    assert [release.rpartition(".")[0] for release in found] == ["6.1", "6.12"]


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    "command", [("matrix",), ("run", "which-algorithms-share-a-lan-fairly"), ("paper", "lan-pairs")]
)
@pytest.mark.parametrize(
    ("kernels", "sentence"),
    [
        ("linux-6.1,linux-6.1", "--kernel: linux-6.1 is named twice; give each kernel once"),
        ("linux-6.1, linux-6.x", '--kernel: unknown kernel "linux-6.x"; did you mean "linux-6.1'),
        (",", "--kernel names no kernel; `tussle list kernels` shows the built ones"),
    ],
)
def test_names_that_do_not_choose_several_are_refused(
    tussle_, command: tuple[str, ...], kernels: str, sentence: str
):
    assert refused(tussle_(*command, "--engine", "kernel", "--kernel", kernels)).startswith(sentence)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "--kernel: the engine sim has no kernel; add --engine kernel"),
        (
            ("--engine", "kernel", "--machine", "qemu", "--modules", "/"),
            "--kernel a,b: --machine qemu runs one kernel; give one, or leave out --machine",
        ),
    ],
)
def test_where_several_cannot_run_they_are_refused(tussle_, arguments: tuple[str, ...], sentence: str):
    assert refused(tussle_("matrix", "--kernel", "a,b", *arguments)) == sentence


@pytest.mark.parametrize(
    "command",
    [
        ("suite", "rfc9743", "--algorithm", "reno", "--engine", "kernel"),
        ("worst", "--algorithm", "reno", "--objective", "queue", "--engine", "kernel"),
        ("worst", "--algorithm", "reno", "--objective", "queue", "--check", "kernel"),
    ],
)
def test_a_suite_and_a_search_run_on_one_kernel(
    tmp_path: Path, copies: dict[str, str], command: tuple[str, ...]
):
    refusal = call(tmp_path, copies, *command, "--kernel", "one,other")
    assert refusal.returncode == 2
    assert refusal.stderr == "tussle: --kernel one,other: this command runs one kernel; give one\n"
