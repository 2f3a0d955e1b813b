"""Make the table of earlier pulsar candidates that `fermiclass followup` compares its list with.

    python docs/development/open-world/past_candidates.py

The default model learns from each of DR1, DR2 and DR3, and labels it. What `followup --want pulsar --status
unassociated` lists of it is written to `fermiclass/analysis/past_candidates.csv`, with the class that 4FGL-DR4 gives
each source (`match_sources`): nothing for an unassociated one, 'gone' for one that DR4 does not have.
"""

import numpy as np
from astropy.table import Table

import fermiclass as fc
from fermiclass.analysis.facts import GONE, JUDGE, PAST
from fermiclass.evaluation.crossmatch import UNMATCHED, match_sources
from fermiclass.labelling.labels import Labels

EARLIER = ("4FGL-DR1", "4FGL-DR2", "4FGL-DR3")
DIGITS = {
    "RAJ2000": "%.4f", "DEJ2000": "%.4f", "GLAT": "%.2f", "Signif_Avg": "%.2f", "Flux1000": "%.3g",
    "Conf_95_SemiMajor": "%.4f", "OOD_SCORE": "%.3f", "LASTS": "%.3f", "Sum_P_pulsar": "%.4f",
}  # fmt: skip


def candidates(release, judge):
    """Return the candidates of a release with their class in the release that judges."""
    catalog = fc.read_catalog(f"catalogs/{release}.fits.gz")
    labels = fc.classify(catalog)
    listed = fc.followup(labels, want="pulsar", status="unassociated")
    listed["Sum_P_pulsar"] = listed[Labels(labels).wanted("pulsar")[1]]
    row = {name: k for k, name in enumerate(catalog.names.tolist())}
    counterpart = match_sources(catalog, judge)[0][[row[name] for name in listed["Source_Name"]]]
    later = np.where(counterpart == UNMATCHED, GONE, judge.classes[counterpart])
    table = Table({"release": np.full(len(listed), release), "Source_Name": listed["Source_Name"]})
    for name, digits in DIGITS.items():
        table[name] = [digits % value for value in listed[name]]
    table["LABEL_FLAGS"], table["STATUS"], table["later"] = listed["LABEL_FLAGS"], listed["STATUS"], later
    return table


judge = fc.read_catalog(f"catalogs/{JUDGE}.fits.gz")
lines = [",".join(["release", "Source_Name", *DIGITS, "LABEL_FLAGS", "STATUS", "later"])]
for release in EARLIER:
    lines += [",".join(map(str, row)) for row in candidates(release, judge).iterrows()]
PAST.write_text("\n".join(lines) + "\n", encoding="utf-8")
print(f"{PAST}: {len(lines) - 1} candidates")
