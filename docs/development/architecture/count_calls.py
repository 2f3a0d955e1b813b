"""Count the functions and the files of fermiclass that a fit, a prediction and the command classify enter.

    python docs/development/architecture/count_calls.py

A function counts once, however often it is called; class bodies, comprehensions, lambdas and the code of modules do not
count.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import fermiclass as fc

REPOSITORY = Path(__file__).parents[3]
PACKAGE = str(Path(fc.__file__).parent)


def entered(call: Callable[[], Any]) -> set[CodeType]:
    """Return the code of all functions of fermiclass that a call enters."""
    codes: set[CodeType] = set()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            codes.add(frame.f_code)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {code for code in codes if not _is_no_function(code)}


def _is_no_function(code: CodeType) -> bool:
    is_class_body = "__qualname__" in code.co_names
    return is_class_body or code.co_name.startswith("<")


def classify(folder: str) -> None:
    """Label 4FGL-DR4 after a short training, by the command."""
    from fermiclass.cli.app import main

    catalog, labels = REPOSITORY / "catalogs" / "4FGL-DR4.fits.gz", Path(folder) / "labels.fits"
    sys.argv = ["fermiclass", "classify", str(catalog), "-o", str(labels), "--steps", "20", "--quiet"]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise


def report(name: str, codes: set[CodeType], *, verbose: bool) -> None:
    """Print the counts, and with `verbose` the functions."""
    print(f"{name:<20} {len(codes):>4} functions in {len({code.co_filename for code in codes}):>3} files")
    if verbose:
        for file, line, function in sorted((c.co_filename, c.co_firstlineno, c.co_qualname) for c in codes):
            print(f"    {file.removeprefix(PACKAGE)}:{line} {function}")


def run() -> None:
    """Count three walks."""
    verbose = "-v" in sys.argv
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(300, 4)), np.full((300, 4), 0.01)
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)]
    classifier = fc.NIMGPClassifier(steps=20)
    report("fit", entered(lambda: classifier.fit(X, y, X_var=V)), verbose=verbose)
    report("predict_proba", entered(lambda: classifier.predict_proba(X, X_var=V)), verbose=verbose)
    with tempfile.TemporaryDirectory() as folder:
        report("fermiclass classify", entered(lambda: classify(folder)), verbose=verbose)


if __name__ == "__main__":
    run()
