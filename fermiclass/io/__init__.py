"""Files: tables in every format, checks of paths, complete writing, and SAMP messages."""
