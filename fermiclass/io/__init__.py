"""Files: one reader and one writer for each format of tables, complete writing, columns of predictions, and SAMP."""
