"""The command line: one module for each command, with the name of the command."""
