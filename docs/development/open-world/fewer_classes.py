"""Class priors of labels with fewer classes than the default, beside those of the default restricted to these classes.

    python docs/development/open-world/fewer_classes.py

Models of DR1 to DR3 label what DR4 classifies: bcu as bll or fsrq, and unassociated sources as pulsars or not.
"""

import numpy as np
from halves import paired

import fermiclass as fc
from fermiclass.catalog import CLASS_TREE
from fermiclass.evaluation import match_sources
from fermiclass.labelling.catalog_model import CatalogModel

GROUPINGS = ("bll,fsrq,psr", "psr,other")
WAYS = ("trained", "selection")


def compare(
    what: str, default: CatalogModel, grouping: str, catalog: fc.Catalog, mask: np.ndarray, truth: np.ndarray
) -> None:
    """Print the losses of the classes of a grouping and of the default: fsrq or not, or pulsar or not."""
    model = fc.train(catalog, classes=grouping)
    kept = {code for each in model.classes for code in model.grouping.members[each]}
    wanted = [each for each in default.classes if set(default.grouping.members[each]) & kept]
    losses, expected = {}, {}
    for way in WAYS:
        for one, classes in ((model, model.classes), (default, wanted)):
            labels = one.label(catalog[mask], "all", class_priors=way)
            positive = [each for each in classes if each in (("psr", "msp") if "psr" in classes else ("fsrq",))]
            of_these, total = (sum(np.asarray(labels[f"P_{each}"], float) for each in c) for c in (positive, classes))
            p = of_these / total
            losses[one, way] = -np.log(np.clip(np.where(truth, p, 1.0 - p), 1e-5, 1.0))
            expected[one, way] = np.sum(p)
    for (one, way), loss in losses.items():
        name = grouping if one is model else f"default, in {grouping}"
        apart = paired(loss, losses[default, "selection"], 3)
        numbers = f"{len(truth):5}{truth.sum():6}{expected[one, way]:8.1f}{loss.mean():8.3f}  {apart}"
        print(f"{what + ', ' + name + ', ' + way:72}{numbers}", flush=True)


later = fc.read_catalog("catalogs/4FGL-DR4.fits.gz")
print(f"{'':72}{'n':>5}{'found':>6}{'expected':>8}{'NLL':>8}  less that of the default, restricted")
for release in ("DR1", "DR2", "DR3"):
    catalog = fc.read_catalog(f"catalogs/4FGL-{release}.fits.gz")
    found, by_name = match_sources(catalog, later)
    code = np.where((found < 0) | by_name, "", later.classes[found])
    bcu = (catalog.classes == "bcu") & np.isin(code, ["bll", "fsrq"])
    default = fc.train(catalog)
    compare(f"{release}, bcu: fsrq", default, "bll,fsrq", catalog, bcu, code[bcu] == "fsrq")
    for grouping in GROUPINGS:
        known = [*CLASS_TREE["agn"], *CLASS_TREE["pulsar"], *(CLASS_TREE["other"] if "other" in grouping else ())]
        bare = (catalog.classes == "") & np.isin(code, known)
        compare(f"{release}: pulsars", default, grouping, catalog, bare, np.isin(code[bare], CLASS_TREE["pulsar"]))
