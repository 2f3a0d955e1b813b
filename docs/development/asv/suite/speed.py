"""How long the parts of ``fermiclass classify`` take, for asv: start, read, extract, step, fit, predict."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# As the commands set them.
os.environ |= {"TF_ENABLE_ONEDNN_OPTS": "0", "TF_NUM_INTRAOP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}

import fermiclass as fc
from fermiclass.features import extract_features

DR4 = Path(__file__).parents[4] / "catalogs" / "4FGL-DR4.fits.gz"


class Start:
    """Commands that need no TensorFlow, each a process of its own."""

    params = (["--version", "--help", "info"],)
    param_names = ("command",)
    timeout = 120

    def time_command(self, command: str) -> None:
        arguments = [command, DR4] if command == "info" else [command]
        subprocess.run([sys.executable, "-m", "fermiclass", *arguments], check=True, stdout=subprocess.DEVNULL)


class Imports:
    """Of the package, and of what a fit needs."""

    def timeraw_fermiclass(self) -> str:
        return "import fermiclass"

    def timeraw_training(self) -> str:
        return "import fermiclass.nimgp.training.loop"


class Catalogue:
    """Read 4FGL-DR4, and extract the default features."""

    def setup(self) -> None:
        self.catalog = fc.read_catalog(DR4)

    def time_read(self) -> None:
        fc.read_catalog(DR4)

    def time_extract(self) -> None:
        extract_features(self.catalog)


class Step:
    """A training step: 3 classes, 100 inducing points per class, 50 sources."""

    params = (["mgp", "nimgp", "nimgp-nn", "nimgp-fo"], ["softmax", "step"])
    param_names = ("method", "likelihood")

    unit = "ms"

    def track_step(self, method: str, likelihood: str) -> float:
        sys.path.append(str(Path(__file__).parents[2] / "paper-tables"))
        from step_cost import our_step

        return our_step(method, likelihood)[0]


class Labels:
    """Fit the default model to 4FGL-DR4, and label its sources without a class."""

    timeout = 600
    number, repeat, warmup_time = 1, (1, 3, 60.0), 0

    def setup_cache(self) -> tuple[fc.Catalog, fc.CatalogModel]:
        catalog = fc.read_catalog(DR4)
        return catalog, fc.train(catalog)

    def time_fit(self, cache: tuple[fc.Catalog, fc.CatalogModel]) -> None:
        fc.train(cache[0])

    def time_label(self, cache: tuple[fc.Catalog, fc.CatalogModel]) -> None:
        catalog, model = cache
        model.label(catalog)
