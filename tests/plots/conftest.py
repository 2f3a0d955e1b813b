"""Figures without a screen, closed after each test, and made-up data."""

import matplotlib
import pytest


@pytest.fixture(autouse=True)
def off_screen():
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    with matplotlib.rc_context(matplotlib.rcParamsDefault):
        yield
    plt.close("all")
