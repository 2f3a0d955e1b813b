"""What steps cost: that it runs, and that ratios are ratios. No times are tested."""

import pytest
from rich.console import Console

from fermiclass.benchmarks import timing


@pytest.fixture(scope="module")
def results():
    with pytest.MonkeyPatch.context() as patch:
        small = {"_METHODS": ("mgp", "nimgp"), "_LIKELIHOODS": ("softmax",), "_M": 5, "_NUM_TARGETS": 20}
        for name, value in small.items():
            patch.setattr(timing, name, value)
        return timing.run(repetitions=1)


def test_ratios(results):
    steps = results["step"]
    assert list(steps) == ["gpflow-svgp", "mgp softmax", "nimgp softmax"]
    assert set(steps["gpflow-svgp"]) == {"ms"}
    for name, step in steps.items():
        assert step["ms"] > 0
        if name != "gpflow-svgp":
            assert step["over_gpflow"] == pytest.approx(step["ms"] / steps["gpflow-svgp"]["ms"])
            assert step["over_mgp"] == pytest.approx(step["ms"] / steps["mgp softmax"]["ms"])
    assert steps["nimgp softmax"]["paper"] == pytest.approx(11.93 / 7.19, abs=0.005)
    assert set(results["predict_per_second"]) == {"softmax"}


def test_tables(results):
    console = Console(width=80, highlight=False)
    with console.capture() as capture:
        timing.print_timing(results, console)
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 80
    step, prediction = (line for line in lines if line.startswith("nimgp, softmax"))
    assert step.split()[4] == "1.66"
    assert int(prediction.split()[-1].replace(",", "")) > 0
