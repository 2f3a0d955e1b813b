"""The core is generic: it imports nothing of astronomy and nothing else of fermiclass."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fermiclass

CORE = sorted((Path(fermiclass.__file__).parent / "nimgp").glob("**/*.py"))
ALLOWED = sys.stdlib_module_names | {
    "gpflow", "numpy", "scipy", "sklearn", "tensorflow", "tensorflow_probability", "threadpoolctl",
}  # fmt: skip


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.name)
def test_imports(path):
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "absolute imports only"
            imported.add(node.module)
    foreign = {
        name for name in imported if name.split(".")[0] not in ALLOWED and not name.startswith("fermiclass.nimgp")
    }
    assert not foreign


def test_expectation_propagation_does_without_tensorflow():
    modules = ", ".join(f"fermiclass.nimgp.ep.{path.stem}" for path in CORE if path.parent.name == "ep")
    assert "evidence" in modules
    script = f"import {modules}, sys; assert not {{'tensorflow', 'gpflow'}} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
