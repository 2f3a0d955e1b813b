"""One self-contained page of labelled sources: table, sky, features, reliability, and provenance."""

from fermiclass.show.page.metrics import read_metrics as read_metrics
from fermiclass.show.page.page import check_page_place as check_page_place
from fermiclass.show.page.page import report_page as report_page
from fermiclass.show.page.page import write_report as write_report
