"""The suite of asv."""
