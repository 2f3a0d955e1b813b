"""The page in a browser: what a reader does with it, and what it shows then."""

import io
import json
import time
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import pytest
from astropy.io.votable import parse, validate
from astropy.table import Table

from fermiclass.show.page import read_metrics, write_report

from .conftest import EVALUATION, HOSTILE

WAIT = 30  # seconds, at most; a busy machine is slow


class Reader:
    """A page in a browser, and what one can do with it."""

    def __init__(self, driver, path):
        self.driver, self.path = driver, path

    def open(self, fragment="", *, width=1440, height=900, dark=False, mobile=False):
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get(self.path.as_uri() + fragment)
        self.until("return document.documentElement.dataset.ready === 'true'")
        return self

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, script, *arguments):
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, WAIT, 0.05).until(lambda _: self.js(script, *arguments), message=script)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def type(self, selector, text):
        field = self.find(selector)
        field.clear()
        field.send_keys(text)

    def choose(self, selector, value):
        from selenium.webdriver.support.ui import Select

        Select(self.find(selector)).select_by_value(value)

    def rows(self):
        """The texts of the first cells of the table's rows."""
        return self.js("return [...document.querySelectorAll('#table tbody tr th')].map((cell) => cell.textContent)")

    def column(self, title):
        """The texts of a column of the table, as far as its page goes."""
        return self.js(
            "const titles = [...document.querySelectorAll('#table thead th')].map((cell) => cell.textContent);"
            "const k = titles.indexOf(arguments[0]);"
            "return [...document.querySelectorAll('#table tbody tr')].map((row) => row.children[k].textContent)"
            ".map((text) => text.replace('> 0.999', '1.000'))",
            title,
        )

    def info(self):
        return self.find(".dt-info").text

    def points(self, chart, kind):
        """The data of the series of a picture whose identifiers begin with `kind`."""
        return self.js(
            "return echarts.getInstanceByDom(document.getElementById(arguments[0])).getOption().series"
            ".filter((series) => series.id.startsWith(arguments[1])).flatMap((series) => series.data)",
            *(chart, kind),
        )

    def pixel(self, chart, x, y):
        """Where in a picture a point is."""
        return self.js(
            "return echarts.getInstanceByDom(document.getElementById(arguments[0]))"
            ".convertToPixel({gridIndex: 0}, [arguments[1], arguments[2]])",
            *(chart, x, y),
        )

    def click_in(self, selector, x, y):
        from selenium.webdriver import ActionChains

        place = self.find(selector)
        self.js("arguments[0].scrollIntoView({block: 'center'})", place)
        size = place.size
        ActionChains(self.driver).move_to_element_with_offset(
            place, round(x - size["width"] / 2), round(y - size["height"] / 2)
        ).click().perform()

    def selected(self):
        """The name of the source that is selected, as every part of the page has it; they must agree."""
        name = self.find("#selected-title").text
        fragment = self.js("return decodeURIComponent(location.hash)")
        assert fragment == f"#source={name}"
        assert self.find("#status").get_attribute("textContent").startswith(f"Selected {name}:")
        marked = self.js(
            "return [...document.querySelectorAll('#table a[aria-current]')].map((link) => link.textContent)"
        )
        assert marked in ([name], [])  # it may be left out by the search
        assert len(self.points("sky-map-selected", "ring")) == 1
        if self.all("#feature-map"):
            assert len(self.points("feature-map-selected", "selected")) >= 1
            assert self.find("#feature-selected").text == f"selected: {name}"
            assert len(self.points("profile", "profile-points")) > 0
        return name

    def complaints(self):
        return [entry for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory, labels, dr4):
    """The full page of 4186 sources."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "metrics.json").write_text(json.dumps(EVALUATION))
    trust = read_metrics(folder / "metrics.json", labels.meta)
    write_report(labels, folder / "page.html", catalog=dr4, trust=trust)
    return Reader(browser, folder / "page.html")


@pytest.fixture(scope="module")
def hostile_page(browser, tmp_path_factory, hostile_labels):
    path = tmp_path_factory.mktemp("hostile") / "page.html"
    write_report(hostile_labels, path)
    return Reader(browser, path)


@pytest.mark.parametrize(
    "screen", [{}, {"dark": True}, {"width": 390, "height": 844, "mobile": True}], ids=["laptop", "dark", "phone"]
)
def test_it_loads_without_complaints(page, screen):
    page.open(**screen)
    page.js("window.scrollTo(0, document.documentElement.scrollHeight)")
    assert page.complaints() == []
    assert page.js("return performance.getEntriesByType('resource').map((entry) => entry.name)") in ([], ["data:,"])
    assert page.info() == "Showing 1 to 25 of 4,186 sources"
    assert len(page.points("sky-map", "class")) == 4186
    assert len(page.points("feature-map", "points")) == 2630
    assert len(page.points("reliability", "measured")) == 2
    # Nothing but the boxes that are made for it scrolls sideways.
    assert page.js("return document.documentElement.scrollWidth <= innerWidth")
    background = page.js("return getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(13, 17, 23)" if screen.get("dark") else "rgb(244, 246, 248)")


def test_search(page, labels):
    page.open()
    name = str(labels["Source_Name"][1234])
    page.type("#search", name.removeprefix("4FGL ").lower())
    page.until("return document.querySelectorAll('#table tbody tr').length === 1")
    assert page.rows() == [name]
    assert page.info() == "Showing 1 to 1 of 1 source (filtered from 4,186 total sources)"
    assert [point[2] for point in page.points("sky-map", "class")] == [1234]
    page.type("#search", "no such source")
    page.until("return document.querySelector('#table tbody').textContent === 'No source is like this'")
    assert page.points("sky-map", "class") == []
    page.find("#filter-none").click()
    page.until("return document.querySelectorAll('#table tbody tr').length === 25")
    assert page.find("#search").get_attribute("value") == ""


def test_filters(page, labels):
    page.open()
    page.find("#filter-class").send_keys("psr")
    page.type("#filter-p", "0.9")
    for bit in ("1", "8"):
        page.find(f".filter-flag[value='{bit}']").click()
    p, flags = np.round(labels["P_MAX"], 4), np.asarray(labels["LABEL_FLAGS"])
    wanted = int(np.sum((labels["PRED_CLASS"] == "psr") & (p >= 0.9) & (flags & 9 == 0)))
    page.until(f"return document.querySelector('.dt-info').textContent.includes(' of {wanted:,} sources')")
    assert set(page.column("Class")) == {" psr"}
    assert len(page.points("sky-map", "class")) == wanted
    page.find("#feature-of").send_keys("the labelled")
    page.until(
        "return echarts.getInstanceByDom(document.getElementById('feature-map')).getOption().series"
        ".filter((series) => series.id.startsWith('points')).flatMap((series) => series.data).length === arguments[0]",
        wanted,
    )


def test_a_group_is_filtered_by_its_sum(page, labels):
    page.open()
    agn = np.round(labels["Sum_P_agn"], 4)
    page.find("#filter-class").send_keys("agn")
    for least in (0.5, 0.95):
        number = np.sum(agn >= least)
        page.until(f"return document.querySelector('.dt-info').textContent.includes(' of {number:,} sources')")
        page.type("#filter-p", "0.95")
    page.all("#table tbody tr")[0].click()
    row = int(np.flatnonzero(labels["Source_Name"] == page.selected())[0])
    assert f"agn {agn[row]:.3f}" in page.find("#selected-body").text


def test_filters_by_status_latitude_and_novelty(page, labels):
    page.open()
    page.find("#filter-status").send_keys("unassociated")
    page.type("#filter-b-from", "10")
    page.type("#filter-b-to", "40.5")
    page.type("#filter-ood", "0.75")
    page.type("#filter-lasts", "0.9")
    page.type("#filter-dec-from", "-20.5")
    page.type("#filter-dec-to", "60")
    dec = np.round(labels["DEJ2000"].astype(float), 4)
    b, ood = np.abs(np.round(labels["GLAT"].astype(float), 3)), np.round(labels["OOD_SCORE"], 3)
    chosen = (
        (labels["STATUS"] == "unassociated") & (b >= 10) & (b <= 40.5) & (ood <= 0.75) & (dec >= -20.5) & (dec <= 60)
    )
    chosen &= np.round(labels["LASTS"], 3) >= 0.9
    page.until(f"return document.querySelector('.dt-info').textContent.includes(' of {chosen.sum():,} sources')")
    assert {point[2] for point in page.points("sky-map", "class")} == set(np.flatnonzero(chosen).tolist())
    page.find("#filter-none").click()
    page.until("return document.querySelector('.dt-info').textContent.endsWith(' of 4,186 sources')")
    assert page.find("#radius").get_attribute("value") == "1"


def test_the_sources_that_an_observer_wants_come_first(page, labels):
    """Unassociated ones without the flags 4 and 8, by their probability of a pulsar."""
    page.open()
    careful = (labels["STATUS"] == "unassociated") & (labels["LABEL_FLAGS"] & 12 == 0)
    wanted = np.sort(np.round(labels["P_psr"][careful], 4))[::-1][:25]
    np.testing.assert_allclose(np.array(page.column("P psr"), float), wanted, atol=6e-4)
    assert set(page.column("Flags")) <= {"0", "1", "2", "3"}
    page.choose("#order", "information")
    information = np.round(labels["INFORMATION"], 3)
    shown = np.isin(labels["Source_Name"], page.rows())
    np.testing.assert_allclose(np.sort(information[shown]), np.sort(information)[-25:], atol=1e-9)


@pytest.mark.parametrize(
    "form", ["{ra:.4f} {dec:+.4f}", "{sixty}", "{hours}", "l {l:.4f} b {b:.4f}", "gal {l:.4f}, {b:.4f}"]
)
@pytest.mark.parametrize("row", [0, 1300, 4000])
def test_search_by_coordinates(page, labels, form, row):
    import astropy.units as u
    from astropy.coordinates import SkyCoord

    at = SkyCoord(labels["RAJ2000"], labels["DEJ2000"], unit="deg")
    ra, dec = float(labels["RAJ2000"][row]), float(labels["DEJ2000"][row])
    sixty = at[row].to_string("hmsdms", sep=":", precision=1)
    hours = at[row].to_string("hmsdms", precision=1)
    galactic = {"l": float(labels["GLON"][row]), "b": float(labels["GLAT"][row])}
    page.open()
    page.type("#radius", "3")
    page.type("#near", form.format(ra=ra, dec=dec, sixty=sixty, hours=hours, **galactic))
    distance = at[row].separation(at).to_value(u.deg)
    near = np.argsort(distance)[: np.sum(distance <= 3.0)]
    page.until(f"return document.querySelector('.dt-info').textContent.includes(' of {len(near):,} source')")
    assert page.rows() == [str(name) for name in labels["Source_Name"][near]][:25]
    np.testing.assert_allclose(np.array(page.column("Distance, °"), float), distance[near][:25], atol=2e-3)


def test_no_position(page):
    page.open()
    for nonsense in ("somewhere", "400 10", "12 95", "1:2", "l 10"):
        page.type("#near", nonsense)
        page.until("return document.getElementById('near-error').textContent.includes(arguments[0])", nonsense)
        assert page.rows() == []
    page.find("#filter-none").click()
    page.until("return document.querySelectorAll('#table tbody tr').length === 25")
    assert page.find("#near-error").text == ""


def saved(page, folder, button):
    """The file that a button of the page saves."""
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    before = set(folder.iterdir())
    page.js("arguments[0].scrollIntoView()", page.find(button))
    page.find(button).click()

    def done():
        return [path for path in set(folder.iterdir()) - before if path.suffix in (".csv", ".vot")]

    end = time.monotonic() + WAIT
    while not done():
        assert time.monotonic() < end, "nothing was saved"
        time.sleep(0.05)
    return done()[0]


@pytest.mark.parametrize(("button", "ending"), [("#save-csv", ".csv"), ("#save-votable", ".vot")])
def test_the_listed_sources_are_saved(page, labels, tmp_path, button, ending):
    page.open()
    page.type("#filter-p", "0.95")
    chosen = labels[np.round(labels["P_MAX"], 4) >= 0.95]
    page.until(f"return document.querySelector('.dt-info').textContent.includes(' of {len(chosen):,} sources')")
    path = saved(page, tmp_path, button)
    assert path.name == f"4FGL-DR4-selection{ending}"
    found = Table.read(path)
    assert [str(name) for name in found["Source_Name"][:25]] == page.rows()  # in the order of the table
    found.sort("Source_Name")
    chosen.sort("Source_Name")
    assert np.any(chosen["ASSOC2"] != "")
    for name in ("Source_Name", "CLASS1", "ASSOC1", "CLASS2", "ASSOC2", "STATUS", "PRED_CLASS"):
        texts = ["" if text is np.ma.masked else str(text) for text in found[name]]
        assert texts == [str(text) for text in chosen[name]]
    for name in ("RAJ2000", "GLAT", "P_bll", "Unc_P_psr", "OOD_SCORE", "LABEL_FLAGS", "Signif_Avg"):
        np.testing.assert_allclose(np.asarray(found[name], float), chosen[name].astype(float), atol=6e-3, rtol=1e-5)
    if ending == ".vot":
        assert str(found["RAJ2000"].unit) == "deg"
        assert found["P_psr"].description == chosen["P_psr"].description
        report = io.StringIO()
        assert validate(str(path), output=report), report.getvalue()
        assert [info.value for info in parse(str(path)).resources[0].infos if info.name == "sha256"] == [
            labels.meta["sha256"]
        ]


def test_hostile_names_are_saved_as_they_are(hostile_page, tmp_path):
    page = hostile_page.open()
    for button in ("#save-csv", "#save-votable"):
        found = Table.read(saved(page, tmp_path, button))
        assert set(HOSTILE) <= {str(name) for name in found["Source_Name"]}


def test_sorting_by_mouse_and_keyboard(page, labels):
    from selenium.webdriver import Keys

    page.open()
    page.choose("#order", "pmax")
    surest = str(labels["Source_Name"][int(np.argmax(np.round(labels["P_MAX"], 4)))])
    page.until("return document.querySelector('#table tbody th').textContent === arguments[0]", surest)
    heading = page.js(
        "return [...document.querySelectorAll('#table thead th')].find((cell) => cell.textContent === 'P psr')"
    )
    heading.click()
    page.until("return arguments[0].getAttribute('aria-sort') === 'descending'", heading)
    shown = np.array(page.column("P psr"), float)
    np.testing.assert_allclose(shown, np.sort(labels["P_psr"])[::-1][:25], atol=6e-4)
    button = heading.find_element("css selector", "[role=button]")
    assert button.get_attribute("tabindex") == "0"
    button.send_keys(Keys.ENTER)
    page.until("return arguments[0].getAttribute('aria-sort') === 'ascending'", heading)
    np.testing.assert_allclose(np.array(page.column("P psr"), float), np.sort(labels["P_psr"])[:25], atol=6e-4)


def test_selecting_in_the_table(page, labels):
    page.open()
    second = page.rows()[1]
    page.all("#table tbody tr")[1].click()
    assert page.selected() == second
    about = page.find("#selected-body").text
    row = int(np.flatnonzero(labels["Source_Name"] == second)[0])
    assert f"P {labels['P_MAX'][row]:.3f}".replace("1.000", "> 0.999") in about
    assert ("an uncertainty was imputed" in about) == bool(labels["LABEL_FLAGS"][row] & 1)
    np.testing.assert_allclose(page.points("sky-map-selected", "ring")[0], page.js(
        "const s = JSON.parse(document.getElementById('data').textContent).sources;"
        "return [s.x[arguments[0]], s.y[arguments[0]]]", row
    ))  # fmt: skip


def test_selecting_on_the_map(page, labels):
    page.open()
    page.type("#search", str(labels["Source_Name"][77]))  # alone on the map, so that no other is nearer
    page.until("return document.querySelectorAll('#table tbody tr').length === 1")
    x, y, _ = page.points("sky-map", "class")[0]
    page.click_in("#sky-map", *page.pixel("sky-map", x, y))
    assert page.selected() == str(labels["Source_Name"][77])


def test_the_address_selects(page, labels):
    name = str(labels["Source_Name"][2000])
    page.open(f"#source={quote(name)}")
    assert page.selected() == name
    assert page.js("return document.querySelector('#table tr.selected th').textContent") == name  # its page is shown
    other = str(labels["Source_Name"][3000])
    page.js("location.hash = arguments[0]", f"source={quote(other)}")
    page.until("return document.getElementById('selected-title').textContent === arguments[0]", other)
    assert page.selected() == other
    page.js("location.hash = 'source=%E0%A4%A'")  # no text at all
    page.js("location.hash = 'source=nobody'")
    assert page.find("#selected-title").text == other
    assert page.complaints() == []


def test_features_of_the_selected_source(page, labels, dr4):
    from fermiclass import extract_features

    name = str(labels["Source_Name"][10])
    page.open(f"#source={quote(name)}")
    page.find("#selected-body details summary").click()
    table = extract_features(dr4, "LP_beta")[np.flatnonzero(dr4.names == name)]
    cells = dict(
        page.js(
            "return [...document.querySelectorAll('#selected-body details tr')].map((row) => "
            "[...row.children].map((cell) => cell.textContent))"
        )
    )
    value, error = (float(part.replace("−", "-")) for part in cells["LP_beta"].split(" (")[0].split(" ± "))
    assert value == pytest.approx(table.X[0, 0], abs=0.5 * error)
    assert error == pytest.approx(np.sqrt(table.X_var[0, 0]), rel=0.06)
    _, y = page.points("feature-map-selected", "selected")[-1]
    assert y == pytest.approx(table.X[0, 0], abs=1e-3)


@pytest.mark.parametrize("width", [320, 390, 1000, 1300, 1400])
def test_the_first_screen(page, width):
    """Wide: search box, map and numbers side by side, and positions in the table. Nothing is wider than the page."""
    page.open(width=width, height=1000, mobile=width < 500)
    box = "const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.left, b.right, b.bottom]"
    assert page.js("return document.documentElement.scrollWidth <= innerWidth")
    if width >= 1300:
        (_, edge, low), (numbers, right, lower) = (page.js(box, name) for name in ("#sky-map", "#overview"))
        assert edge < numbers
        assert max(low, lower, page.js(box, "#search")[2]) < 1000
        assert max(edge, right) <= width
        dec = page.js(
            "return [...document.querySelectorAll('#table thead th')].find((cell) => cell.textContent === 'Dec')"
            ".getBoundingClientRect().right"
        )
        assert dec < page.js(box, "#sources")[1]


def test_the_second_association_is_shown_and_found(page, labels):
    row = int(np.flatnonzero((labels["ASSOC2"] != "") & (labels["STATUS"] == "unassociated"))[0])
    page.open(f"#source={quote(str(labels['Source_Name'][row]))}")
    shown = page.find("#selected-body dl").text
    assert f"{labels['ASSOC2'][row]}, {labels['CLASS2'][row]}" in shown
    assert f"probability {labels['ASSOC_PROB_BAY'][row]:.2f} (Bayesian method)" in shown
    page.type("#search", str(labels["ASSOC2"][row]))
    page.until("return document.querySelector('.dt-info').textContent.includes(' of 1 source')")
    assert page.rows() == [str(labels["Source_Name"][row])]


def test_links_lead_to_the_source(page, labels):
    row = int(np.flatnonzero(labels["ASSOC1"] != "")[0])
    page.open(f"#source={quote(str(labels['Source_Name'][row]))}")
    links = {link.text: link.get_attribute("href") for link in page.all("#selected-body ul.links a")}
    assert all(link.get_attribute("rel") == "noopener noreferrer" for link in page.all("a[target=_blank]"))
    hosts = {text: urlsplit(href).netloc for text, href in links.items()}
    queries = {text: parse_qs(urlsplit(href).query) for text, href in links.items()}
    association = str(labels["ASSOC1"][row])
    assert hosts["SIMBAD"] == "simbad.cds.unistra.fr"
    assert queries["SIMBAD"] == {"Ident": [str(labels["Source_Name"][row])]}
    assert queries[f"SIMBAD: {association}"] == {"Ident": [association]}
    assert queries[f"NED: {association}"] == {"objname": [association]}
    ra, dec = queries["SIMBAD around it"]["Coord"][0].split()
    assert (float(ra), float(dec)) == pytest.approx((labels["RAJ2000"][row], labels["DEJ2000"][row]), abs=1e-4)
    assert queries["Aladin Lite"]["target"] == [f"{ra} {dec}"]
    assert queries["NED around it"]["coordinates"] == [f"{ra}d {float(dec):g}d"]
    in_table = page.js("return document.querySelector('#table tr.selected td.links a').href")
    assert in_table == links["SIMBAD"]


def test_hostile_names_are_text(hostile_page):
    page = hostile_page.open()
    page.type("#filter-p", "0")
    for name in HOSTILE:
        page.type("#search", name)
        page.until(
            "return [...document.querySelectorAll('#table tbody th')].some((th) => th.textContent === arguments[0])",
            name,
        )
        page.js(
            "[...document.querySelectorAll('#table tbody a[data-source]')]"
            ".find((link) => link.textContent === arguments[0]).click()",
            name,
        )
        assert page.selected() == name
        first = page.find("#selected-body ul.links a")
        assert parse_qs(urlsplit(first.get_attribute("href")).query) == {"Ident": [name]}
    fragment = page.js("return location.hash")
    page.open(fragment)
    assert page.selected() == HOSTILE[-1]
    assert page.js("return window.hacked === undefined")
    assert page.all("img") == []
    assert page.complaints() == []
