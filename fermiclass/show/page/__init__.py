"""One self-contained page of labelled sources: table, sky, features, reliability, and provenance."""

from fermiclass.show.page.metrics import PastCandidates, Trust, read_candidates, read_metrics
from fermiclass.show.page.page import check_page_place, report_page, write_report

__all__ = [
    "PastCandidates",
    "Trust",
    "check_page_place",
    "read_candidates",
    "read_metrics",
    "report_page",
    "write_report",
]
