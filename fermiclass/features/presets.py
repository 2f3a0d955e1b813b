"""The features and the minimum significance of the main paper (Villacampa-Calvo et al. 2021, section 5.6)."""

PAPER_FEATURES, PAPER_MIN_SIGNIFICANCE = "paper", 30.0
