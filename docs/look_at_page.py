"""Look at a page of ``fermiclass report`` in headless Chromium: take the pictures of docs/figures, or time it.

    python docs/look_at_page.py labels.html --figures docs/figures
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

#: Name of the picture: part of the page, width, height, dark, phone.
PICTURES = {
    "report-desktop-light": ("sky", 1440, 900, False, False),
    "report-desktop-dark": ("sources", 1440, 900, True, False),
    "report-features-light": ("features", 1440, 900, False, False),
    "report-trust-dark": ("trust", 1440, 900, True, False),
    "report-phone-light": ("sky", 390, 844, False, True),
    "report-phone-dark": ("sources", 390, 844, True, True),
}

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


def open_page(driver, page, fragment, width, height, dark, phone):
    """Load a page on a screen of some size, in light or dark."""
    driver.get("about:blank")
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.get(page.resolve().as_uri() + fragment)
    WebDriverWait(driver, 60).until(lambda d: d.execute_script("return document.documentElement.dataset.ready"))


def take_pictures(driver, page, folder, source):
    """Write all of `PICTURES`, in 256 colours."""
    for name, (part, width, height, dark, phone) in PICTURES.items():
        open_page(driver, page, f"#source={source.replace(' ', '%20')}", width, height, dark, phone)
        driver.execute_script("document.getElementById(arguments[0]).scrollIntoView()", part)
        driver.execute_async_script("setTimeout(arguments[0], 1500)")
        image = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
        image.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            folder / f"{name}.png", optimize=True
        )


def take_times(driver, page, repetitions):
    """Print the time from each action to the next frame that is painted, and the page's processor time, in ms."""
    open_page(driver, page, "", 1440, 900, False, False)
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
    parser.add_argument("--figures", type=Path, metavar="FOLDER")
    parser.add_argument("--source", default="4FGL J1539.4-3323", help="which is selected in the pictures")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--repetitions", type=int, default=15)
    chosen = parser.parse_args()
    with browser() as driver:
        if chosen.figures:
            take_pictures(driver, chosen.page, chosen.figures, chosen.source)
        if chosen.time:
            take_times(driver, chosen.page, chosen.repetitions)


if __name__ == "__main__":
    main()
