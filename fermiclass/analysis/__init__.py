"""Analysis of single sources: explanations, follow-up lists, suspicious associations."""
