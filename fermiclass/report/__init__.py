"""One self-contained page of labelled sources: table, sky, features, how far to trust them, how they were made."""

from fermiclass.report.metrics import Trust, read_metrics
from fermiclass.report.page import check_page_place, report_page, write_report

__all__ = ["Trust", "check_page_place", "read_metrics", "report_page", "write_report"]
