"""Metrics, figures and engines are one file each, and these files do not import each other."""

import grimp
import pytest

GRAPH = grimp.build_graph("tussle")


@pytest.mark.parametrize("package", ["tussle.metrics", "tussle.figures", "tussle.engines"])
def test_siblings_do_not_import_each_other(package: str) -> None:
    files = GRAPH.find_children(package)
    public = {name for name in files if not name.rpartition(".")[2].startswith("_")}
    assert public
    imports = {(name, other) for name in files for other in GRAPH.find_modules_directly_imported_by(name)}
    assert not {(name, other) for name, other in imports if other in public}
