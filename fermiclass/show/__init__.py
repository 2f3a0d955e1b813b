"""Printed summaries and the HTML page."""
