"""Criteria for the ranking of sources."""

#: Columns of the label table by criterion. Sources are ranked by the column, highest first.
CRITERIA = {
    "information": "INFORMATION",
    "bald": "INFORMATION",
    "entropy": "ENTROPY",
    "noise": "NOISE_ENTROPY",
    "ood": "OOD_SCORE",
    "significance": "Signif_Avg",
    "probability": "P_MAX",
}

#: NOISE_ENTROPY below this is rounding: first-order methods count what the error bars add in INFORMATION.
LEAST_NOISE_ENTROPY = 1e-5
