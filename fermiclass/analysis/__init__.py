"""Analysis of single sources: explanations, follow-up lists, comparisons, doubtful associations."""
