"""How far pulsars are from the gamma-ray sources that they are, in error ellipses.

    python docs/development/open-world/exclusion_radius.py 3pc.csv

The table has the pulsars of the third LAT pulsar catalogue with `Source_Name`, `ra` and `dec`. `followup --exclude`
takes a position for that of a source within `REACH` ellipses.
"""

import sys

import numpy as np
from astropy.table import Table

import fermiclass as fc
from fermiclass.brought.joining import REACH
from fermiclass.brought.other_list import OtherList
from fermiclass.io.target_lists import ELLIPSE, PLACE, angles

catalog = fc.read_catalog("catalogs/4FGL-DR4.fits.gz")
pulsars = Table.read(sys.argv[1], format="ascii.csv")
row = {name: k for k, name in enumerate(catalog.names.tolist())}
sized = np.isfinite(np.asarray(catalog.table["Conf_95_SemiMajor"], float))
pulsars = pulsars[[name in row and sized[row[name]] for name in pulsars["Source_Name"].tolist()]]
own = np.array([row[name] for name in pulsars["Source_Name"].tolist()])
for scale in (1.0, 1.25, REACH, 2.0):
    scales = (1.0, 1.0, scale, scale, 1.0)
    ellipses = (a * angles(catalog.table, name) for a, name in zip(scales, (*PLACE, *ELLIPSE), strict=True))
    found = OtherList.of(pulsars["ra", "dec"]).pairs(np.array([], str), *ellipses)
    right = found.mine == own[found.theirs]
    print(f"within {scale} ellipses: {right.sum() / len(own):.3f} of {len(own)} pulsars;")
    print(f"  other sources there: {np.sum(~right)}")
