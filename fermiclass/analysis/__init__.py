"""What the labels of single sources mean: explanations, follow-up lists, suspicious associations."""
