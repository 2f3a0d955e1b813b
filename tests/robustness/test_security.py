"""Nothing that is read can run code, reach other files, or take memory without end."""

import ast
import io
import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import fermiclass
from fermiclass.errors import ModelFolderError
from fermiclass.labelling.archive import FORMAT, read_model_folder
from fermiclass.nimgp.archives import read_arrays

PACKAGE = sorted(Path(fermiclass.__file__).parent.rglob("*.py"))
MODULES = {
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "subprocess",
    "pty",
    "yaml",
    "code",
}
CALLS = {"eval", "exec", "compile", "__import__", "input"}
METHODS = {
    "popen",
    "read_pickle",
    "to_pickle",
    "extractall",
    "unsafe_load",
    "check_output",
    "execv",
    "startfile",
}


@pytest.mark.parametrize("path", PACKAGE, ids=lambda path: str(path.relative_to(PACKAGE[0].parent)))
def test_no_module_can_run_what_it_reads(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not {name.name.split(".")[0] for name in node.names} & MODULES, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in MODULES, node.lineno
        elif isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            assert not (isinstance(node.func, ast.Name) and name in CALLS), (name, node.lineno)
            keywords = {word.arg: word.value for word in node.keywords}
            assert not (isinstance(node.func, ast.Attribute) and name in METHODS), (name, node.lineno)
            assert ast.unparse(node.func) != "os.system", node.lineno
            assert "shell" not in keywords, node.lineno
            if name in ("load", "read_array") and ast.unparse(node.func).startswith("np."):
                assert ast.unparse(keywords["allow_pickle"]) == "False", node.lineno


def test_there_is_something_to_check():
    assert len(PACKAGE) > 100


def packed(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


def header(shape, dtype="<f8"):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def array_bytes(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def twice():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.npy", array_bytes(np.zeros(2)))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.npy", array_bytes(np.ones(2)))
    return stream.getvalue()


HOSTILE = {
    "a zip bomb": (
        lambda: packed(a=header((10**7,)) + bytes(8 * 10**7)),
        r"its arrays take 80,000,\d+ bytes, more than",
    ),
    "a huge shape": (
        lambda: packed(a=header((10**12,)) + bytes(80)),
        r"states float64 of shape \(1000000000000,\)",
    ),
    "a shape that overflows": (lambda: packed(a=header((2**40, 2**40)) + bytes(80)), r"states float64 of shape"),
    "a negative shape": (lambda: packed(a=header((-1, -8)) + bytes(64)), r"states float64 of shape \(-1, -8\)"),
    "many empty ones": (lambda: packed(**{f"a{k}": b"" for k in range(10_001)}), r"10001 arrays"),
    "the same name twice": (twice, r"2 arrays: too many, or several of the same name"),
    "objects": (lambda: packed(a=header((1,), "|O") + b"cos\nsystem\n(S'x'\ntR."), r"Python objects, which could run"),
    "no array": (lambda: packed(a=b"rm -rf"), r"magic string"),
    "code in the header": (
        lambda: packed(a=b"\x93NUMPY\x01\x00\x20\x00" + b"__import__('os').system('true') "),
        r"malformed node",
    ),
    "a deep header": (
        lambda: packed(a=b"\x93NUMPY\x01\x00\x00\x20" + b"(" * 8192),
        r"EOF|parse|nested|memory|[Hh]eader",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused_in_little_memory(name):
    make, message = HOSTILE[name]
    content = make()
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message):
            read_arrays(content)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_names_that_climb_are_names_only(tmp_path):
    content = packed(**{"../../climbed": array_bytes(np.ones(2)), "/absolute": array_bytes(np.zeros(1))})
    (tmp_path / "a" / "b").mkdir(parents=True)
    arrays = read_arrays(content)
    assert sorted(arrays) == ["../../climbed", "/absolute"]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 10**6, r"cannot be read"),
        (b"1" * 10**5, r"cannot be read|does not describe"),
        (b'{"a":' * 10**5, r"cannot be read"),
        (json.dumps({"format": FORMAT, "format_version": 10**400}).encode(), r"format version 1000"),
        (json.dumps({"format": FORMAT, "format_version": True}).encode(), r"format version True"),
    ],
    ids=["deep list", "long number", "deep entries", "huge version", "true version"],
)
def test_hostile_settings_are_refused(tmp_path, text, message):
    (tmp_path / "config.json").write_bytes(text)
    with pytest.raises(ModelFolderError, match=message):
        read_model_folder(tmp_path)


def test_a_link_to_a_device_is_not_read(tmp_path):
    (tmp_path / "config.json").symlink_to("/dev/zero")
    with pytest.raises(ModelFolderError, match="not a regular file"):
        read_model_folder(tmp_path)
