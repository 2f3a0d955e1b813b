"""The order of the package: the direction of imports between the rooms, and no circles."""

import ast
import re
import sys
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.conftest import REPOSITORY

PACKAGE, BENCHMARKS = REPOSITORY / "fermiclass", REPOSITORY / "benchmarks" / "fermiclass_benchmarks"
PAGE = (REPOSITORY / "docs" / "development" / "architecture.md").read_text(encoding="utf-8").partition("## The flow")[0]

#: The rooms from the top to the bottom, as the page has them: a room imports rooms below it.
ROOMS = re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)
ABOVE = BENCHMARKS.name  # imports the rooms, and none imports it


def module_name(path, package):
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path, package): path for package in (PACKAGE, BENCHMARKS) for path in package.rglob("*.py")}


def targets_of(name):
    """Modules that a module imports, wherever in it: in functions and for types too."""
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: absolute imports only"
            # from a import b: of the module a.b, or of something in the module a
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (target if target in MODULES else node.module for target in targets)


IMPORTS = {name: {target for target in targets_of(name) if target in MODULES} - {name} for name in MODULES}


def room_of(name):
    """The room of a module; that of a loose one is its own name, and another package is one room."""
    package, *rest = name.split(".")
    return package if package == ABOVE else rest[0] if rest else ""


def rooms_used_by(room):
    """Rooms that modules of a room import, with one module that does so."""
    return {
        room_of(target): f"{name} imports {target}"
        for name, targets in IMPORTS.items()
        if room_of(name) == room
        for target in targets
        if room_of(target) in {ABOVE, *ROOMS} and room_of(target) != room
    }


def test_the_page_names_every_room():
    assert sorted(ROOMS) == sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def test_every_folder_of_modules_is_a_package():
    assert not {path.parent for path in MODULES.values() if not (path.parent / "__init__.py").is_file()}


@pytest.mark.parametrize("room", ROOMS)
def test_imports_run_one_way(room):
    above = [ABOVE, *ROOMS[: ROOMS.index(room)]]
    assert not [line for other, line in rooms_used_by(room).items() if other in above]


def test_the_core_stands_alone():
    """It is generic: nothing of astronomy, and nothing else of fermiclass."""
    assert not rooms_used_by("nimgp")
    outside = {"gpflow", "numpy", "scipy", "sklearn", "tensorflow", "tensorflow_probability", "threadpoolctl"}
    core = [name for name in MODULES if room_of(name) == "nimgp"]
    imported = {target.partition(".")[0] for name in core for target in targets_of(name)}
    assert imported - sys.stdlib_module_names <= outside | {"fermiclass"}
    assert not IMPORTS["fermiclass.errors"]
    assert not [room for room in ("io", "catalog", "features") if "nimgp" in rooms_used_by(room)]


def test_no_module_imports_itself_by_way_of_others():
    """Imports for types count too: a circle of ideas is one, though Python does not mind it."""
    try:
        TopologicalSorter(IMPORTS).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))
