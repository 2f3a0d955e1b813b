"""The order of the package: rooms, the direction of imports, no circles, modules of a size that one can read."""

import ast
import importlib.util
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.conftest import REPOSITORY

PACKAGE = REPOSITORY / "fermiclass"
_SPEC = importlib.util.spec_from_file_location("make_architecture", REPOSITORY / "docs" / "make_architecture.py")
make_architecture = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(make_architecture)

ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
#: What each room may import, all that is below it: the order is the one that is drawn.
DEPTH = {name: depth for depth, layer in enumerate(make_architecture.LAYERS) for name in layer}
MOST_ROOMS, MOST_LINES = 12, 400
LOOSE = {"__init__.py", "__main__.py", "_version.py", "errors.py", "py.typed"}


def modules():
    """Every module of the package by its name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(REPOSITORY).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports_of(name):
    """Modules of the package that a module imports, wherever in it: in functions and for types too."""
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: absolute imports only"
            # from a import b: of the module a.b, or of something in the module a
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [target if target in MODULES else node.module for target in targets]
        else:
            continue
        yield from (target for target in targets if target in MODULES and target != name)


IMPORTS = {name: set(imports_of(name)) for name in MODULES}


def room_of(name):
    """The room of a module; that of a loose one is its own name."""
    return name.split(".")[1] if "." in name else ""


def rooms_used_by(room):
    """Rooms that modules of a room import, with one module that does so."""
    return {
        room_of(target): f"{name} imports {target}"
        for name, targets in IMPORTS.items()
        if room_of(name) == room
        for target in targets
        if room_of(target) in ROOMS and room_of(target) != room
    }


def test_there_are_few_rooms_and_nothing_lies_loose():
    assert len(ROOMS) <= MOST_ROOMS
    loose = {path.name for path in PACKAGE.iterdir() if path.name not in ROOMS and path.name != "__pycache__"}
    assert loose == LOOSE
    assert sorted(DEPTH) == ROOMS


def test_every_folder_of_modules_is_a_package():
    assert not {path.parent for path in MODULES.values() if not (path.parent / "__init__.py").is_file()}


@pytest.mark.parametrize("room", ROOMS)
def test_imports_run_one_way(room):
    against = [line for other, line in rooms_used_by(room).items() if DEPTH[other] <= DEPTH[room]]
    assert not against


def test_the_order_of_the_rooms():
    """The order itself, so that a drawing of another does not change the rule."""
    order = ["cli", "show", "plots", "analysis", "evaluation", "labelling", "rows", "features", "catalog", "io"]
    assert [name for name in sorted(order, key=lambda name: DEPTH[name]) if name != "rows"] == [
        name for name in order if name != "rows"
    ]
    assert DEPTH["labelling"] < DEPTH["rows"] < DEPTH["io"]
    assert DEPTH["cli"] < DEPTH["benchmarks"]
    assert all(DEPTH["benchmarks"] < DEPTH[room] for room in ROOMS if room not in ("cli", "benchmarks"))


def test_who_imports_the_core():
    assert not IMPORTS["fermiclass.errors"]
    assert {room for room in ROOMS if "nimgp" in rooms_used_by(room)} == set(make_architecture.USERS_OF_THE_CORE)
    assert not {"io", "catalog", "features"} & set(make_architecture.USERS_OF_THE_CORE)
    assert not rooms_used_by("nimgp")  # tests/nimgp/test_imports.py says what else it imports


def test_no_module_imports_itself_by_way_of_others():
    """Imports for types count too: a circle of ideas is one, though Python does not mind it."""
    try:
        TopologicalSorter(IMPORTS).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


@pytest.mark.parametrize("name", MODULES)
def test_a_module_can_be_read_in_one_go(name):
    assert len(MODULES[name].read_text(encoding="utf-8").splitlines()) <= MOST_LINES
