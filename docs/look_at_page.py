"""Look at a page of ``fermiclass report`` in headless Chromium: take its picture.

    python docs/look_at_page.py labels.html --picture docs/figures/report.png

Needs Chromium, chromedriver and selenium.
"""

import argparse
import io
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait


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


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("--picture", type=Path, metavar="FILE.png", required=True)
    parser.add_argument("--source", default="4FGL J1539.4-3323", help="which is selected in the picture")
    chosen = parser.parse_args()
    with browser() as driver:
        take_picture(driver, chosen.page, chosen.picture, chosen.source)


if __name__ == "__main__":
    main()
