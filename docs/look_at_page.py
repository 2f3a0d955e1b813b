"""Look at a page of ``fermiclass report`` in headless Chromium: take its picture, or time it.

    python docs/look_at_page.py labels.html --picture docs/figures/report.png
    python docs/look_at_page.py labels.html --time

Needs Chromium, chromedriver and selenium.
"""

import argparse
import io
import json
import os
import platform
import shutil
import statistics
import tempfile
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

#: What a reader does, as a function of the number k of the repetition; names is the list of all names.
ACTIONS = {
    "select a row of the table": "document.querySelectorAll('#table tbody tr')[(7 * k + 3) % 25].click()",
    "select by the address": (
        "location.hash = 'source=' + encodeURIComponent(names[(531 * k) % names.length]);"
        "dispatchEvent(new HashChangeEvent('hashchange'))"
    ),
    "sort by a column": "document.querySelectorAll('#table thead th')[3 + k % 3].click()",
    "turn a page of the table": "document.querySelector('.dt-paging-button.next').click()",
    "hide or show a class on the map": "document.querySelector('#sky-legend button').click()",
    "zoom the map": "document.getElementById(k % 2 ? 'zoom-all' : 'zoom-in').click()",
    "choose another feature": (
        "const e = document.getElementById('feature-x'); e.value = String(k % e.options.length);"
        "e.dispatchEvent(new Event('input'))"
    ),
    "search": (
        "const e = document.getElementById('search');"
        "e.value = ['4fgl j18', 'j05', '', 'psr', 'nvss', 'j1', 'bcu'][k % 7];"
        "e.dispatchEvent(new Event('input'))"
    ),
}

#: Of what is waited for before a search begins, so that quick letters become one search.
SEARCH_DELAY = 60

_TIME = """
const [code, repetitions, isSearch, finish] = arguments;
const names = JSON.parse(document.getElementById("data").textContent).sources.name;
const act = { %s }[code];
const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
const drawn = () => new Promise((done) => {
  const observer = new MutationObserver(() => { observer.disconnect(); done(); });
  observer.observe(document.querySelector("#table tbody"), { childList: true });
});
(async () => {
  const times = [];
  for (let k = 1; k <= repetitions; k++) {
    await painted();
    const start = performance.now();
    const table = isSearch ? drawn() : null;
    act(k, names);
    await table;
    await painted();
    times.push(performance.now() - start);
  }
  finish(times);
})();
"""


@contextmanager
def browser():
    """Open headless Chromium."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    folder = tempfile.mkdtemp()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", f"--user-data-dir={folder}"):
        options.add_argument(argument)
    opened = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    opened.set_script_timeout(300)
    try:
        yield opened
    finally:
        opened.quit()
        shutil.rmtree(folder, ignore_errors=True)


def open_page(driver, page, fragment):
    """Load a page on a screen of 1440 × 900, in light."""
    driver.get("about:blank")
    size = {"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.get(page.resolve().as_uri() + fragment)
    WebDriverWait(driver, 60).until(lambda d: d.execute_script("return document.documentElement.dataset.ready"))


def take_picture(driver, page, path, source):
    """Write the first screen with a selected source, in 256 colours."""
    open_page(driver, page, f"#source={source.replace(' ', '%20')}")
    driver.execute_async_script("setTimeout(arguments[0], 1500)")
    image = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
    image.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(path, optimize=True)


def take_times(driver, page, repetitions):
    """Print the time from each action to the next frame that is painted, and the page's processor time, in ms."""
    open_page(driver, page, "")
    driver.execute_async_script("setTimeout(arguments[0], 2000)")
    loaded = driver.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {platform.machine()}")
    print(f"load: {loaded:.0f} ms")
    script = _TIME % ", ".join(f"{json.dumps(name)}: (k, names) => {{ {code} }}" for name, code in ACTIONS.items())
    driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    for name in ACTIONS:
        before = busy(driver)
        times = driver.execute_async_script(script, name, repetitions, name == "search")
        note = f", {SEARCH_DELAY} ms of it waiting for more letters" if name == "search" else ""
        work = (busy(driver) - before) / repetitions
        print(f"{name}: {statistics.median(times):.0f}, at most {max(times):.0f}{note}; processor {work:.0f}")


def busy(driver):
    """Return how long the page's thread has worked, in ms of processor time: what other processes do does not count."""
    metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return 1e3 * next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("--picture", type=Path, metavar="FILE.png")
    parser.add_argument("--source", default="4FGL J1539.4-3323", help="which is selected in the picture")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--repetitions", type=int, default=15)
    chosen = parser.parse_args()
    with browser() as driver:
        if chosen.picture:
            take_picture(driver, chosen.page, chosen.picture, chosen.source)
        if chosen.time:
            take_times(driver, chosen.page, chosen.repetitions)


if __name__ == "__main__":
    main()
