#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2024.10"]
# ///
"""Tasks, each in an environment of its own: ``nox -l`` lists them, ``nox -s wheel`` runs one."""

from __future__ import annotations

import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2024.10"
nox.options.default_venv_backend = "uv|virtualenv"

PYTHONS = ("3.11", "3.12", "3.13")


@nox.session
def lint(session: nox.Session) -> None:
    """Check format, style, types, spelling and workflows, with the hooks of pre-commit."""
    session.install("pre-commit>=4")
    session.run("pre-commit", "run", "--all-files", "--show-diff-on-failure", *session.posargs)


@nox.session
def review(session: nox.Session) -> None:
    """Check the rules of the Scientific Python development guide."""
    session.install("sp-repo-review[cli]")
    session.run("repo-review", ".")


@nox.session(python=PYTHONS, default=False)
def tests(session: nox.Session) -> None:
    """Run the tests with the newest dependencies, without the papers' tables and with them."""
    session.install(".[test]")
    session.run("pytest", *session.posargs)
    session.install("./benchmarks")
    session.run("pytest", "benchmarks/tests", *session.posargs)


@nox.session(python=PYTHONS[0], venv_backend="uv", default=False)
def oldest(session: nox.Session) -> None:
    """Run the tests with the oldest dependencies that pyproject.toml allows."""
    session.install("--resolution", "lowest-direct", ".[test]")
    deprecations = ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")  # old ones are no news
    session.run("pytest", *(f"-Wignore::{name}" for name in deprecations), *session.posargs)


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the documentation site in docs/_build/html."""
    session.install(".[docs]")
    session.run("python", "docs/build.py", "site", *session.posargs)


@nox.session(default=False)
def wheel(session: nox.Session) -> None:
    """Build dist/, and label 4FGL-DR4 with the wheel alone in an empty environment."""
    session.install("build>=1.2")
    session.run("python", ".ci/check_wheel.py")


@nox.session(default=False)
def sdist(session: nox.Session) -> None:
    """Check that the sdist has what it should, and run the tests in it; those that need catalogues are skipped."""
    session.install("build>=1.2", "check-manifest>=0.50")
    session.run("check-manifest")
    folder = Path(session.create_tmp())
    session.run("python", "-m", "build", "--sdist", "--outdir", str(folder))
    (archive,) = folder.glob("*.tar.gz")
    shutil.unpack_archive(archive, folder)
    with session.chdir(folder / archive.name.removesuffix(".tar.gz")):
        session.install(".[test]")
        session.run("pytest", *session.posargs)


if __name__ == "__main__":
    nox.main()
