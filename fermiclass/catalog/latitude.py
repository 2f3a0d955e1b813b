"""The Galactic plane."""

#: |GLAT| in degrees from which a source is far from the plane.
LATITUDE_EDGE = 10.0

#: Scale height of the Galactic disc on the sky, in degrees: latitude matters below it, and hardly far above.
DISC = 3.0
