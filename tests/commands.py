"""Commands as a user runs them: in this process, where TensorFlow is imported once, or in one of their own."""

import contextlib
import io
import os
import re
import subprocess
import sys
import warnings
from unittest import mock

_STAGE = re.compile(r"fermiclass: .+, \d+ of \d+ done")  # a line of a long command


def run(*arguments, cwd=None, env=None):
    """Run a command in this process, and return what a process of its own would."""
    from fermiclass.cli.app import main

    arguments = [str(argument) for argument in arguments]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    with (
        contextlib.chdir(cwd or "."),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.dict(os.environ, env or {}),
        mock.patch.object(sys, "argv", ["fermiclass", *arguments]),
        _warnings_as_outside_of_tests(),
    ):
        try:
            main(args=arguments, prog_name="fermiclass")
        except SystemExit as stop:
            status = stop.code or 0
    return subprocess.CompletedProcess(arguments, status, *(_text(stream) for stream in (out, err)))


def run_alone(*arguments, cwd=None, **kwargs):
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "fermiclass", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=600, **kwargs)


def run_well(*arguments, alone=False, **kwargs):
    """Run a command that ends without an error or a warning, and return what it prints."""
    done = (run_alone if alone else run)(*arguments, **kwargs)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if not _STAGE.fullmatch(line)] == []
    return done.stdout


def refuses(folder, message, *arguments, command=()):
    """Run a command that ends with one message on standard error, and changes no file of its folder."""
    before = set(folder.iterdir())
    done = run(*command, *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(message, done.stderr)
    assert "Traceback" not in done.stderr
    assert set(folder.iterdir()) == before


def imported_by(*arguments, cwd=None):
    """Run a command in a process of its own; return what it prints, and the packages that it has imported."""
    script = (
        "import sys; from fermiclass.cli.app import main\n"
        "try: main(args=sys.argv[1:], prog_name='fermiclass')\n"
        "except SystemExit as stop: assert not stop.code\n"
        "print(*sys.modules)"
    )
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    printed, _, modules = done.stdout.rstrip("\n").rpartition("\n")
    return printed, set(modules.split())


@contextlib.contextmanager
def _warnings_as_outside_of_tests():
    with warnings.catch_warnings():
        warnings.resetwarnings()
        for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        yield


def _text(stream):
    stream.flush()
    return stream.buffer.getvalue().decode()


def printed_by(function, *arguments, width=80):
    """What a function prints in a terminal of this width."""
    with contextlib.redirect_stdout(io.StringIO()) as stream, mock.patch.dict(os.environ, COLUMNS=str(width)):
        function(*arguments)
    return stream.getvalue()
