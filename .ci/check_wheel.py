"""Build the distributions, and label 4FGL-DR4 with the wheel alone.

    python .ci/check_wheel.py

The sdist and the checkout must give the same wheel. The wheel is installed in an empty environment outside the
checkout, where it runs ``fermiclass classify``. The distributions are left in ``dist``. Needs the package ``build``,
and 3 GB of disk space.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
DIST = REPOSITORY / "dist"
CATALOG = REPOSITORY / "catalogs" / "4FGL-DR4.fits.gz"
CHECK = """
import sys
from pathlib import Path
import fermiclass
labels = fermiclass.read_table("labels.fits")
assert Path(fermiclass.__file__).is_relative_to(sys.prefix), fermiclass.__file__
assert len(labels) == 4186, len(labels)
total = sum(labels[name] for name in labels.colnames if name.startswith("P_") and name != "P_MAX")
assert abs(total - 1).max() < 1e-3, abs(total - 1).max()
print(f"fermiclass {fermiclass.__version__} labelled {len(labels)} sources")
"""


def main() -> None:
    """Build, compare, install and label."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "build", "--outdir", DIST, REPOSITORY)  # the sdist, and the wheel from it
        run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, REPOSITORY)
        (wheel,), (direct,) = DIST.glob("*.whl"), folder.glob("*.whl")
        different = sorted(name for name, _ in contents(wheel) ^ contents(direct))
        if different:
            raise SystemExit(f"sdist and checkout give other wheels: {', '.join(different)}")
        venv.create(folder / "environment", with_pip=True)
        programs = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
        run(programs / "python", "-m", "pip", "install", "--quiet", wheel)
        size = sum(file.lstat().st_size for file in (folder / "environment").rglob("*") if file.is_file())
        print(f"the environment takes {size / 1e9:.1f} GB", flush=True)
        shutil.copy(CATALOG, folder)
        run(programs / "fermiclass", "classify", CATALOG.name, "-o", "labels.fits", "--quiet", folder=folder)
        run(programs / "python", "-c", CHECK, folder=folder)


def run(*command: object, folder: Path | None = None) -> None:
    """Run a command in a folder; end with its status if it fails. The checkout is not importable."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    print("==", *command, flush=True)
    done = subprocess.run([str(word) for word in command], cwd=folder, env=environment, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)


def contents(wheel: Path) -> set[tuple[str, int]]:
    """Return the names and checksums of the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {(file.filename, file.CRC) for file in archive.infolist()}


if __name__ == "__main__":
    main()
