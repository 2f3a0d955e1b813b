"""Benchmarks: registered data, methods and protocols, each run by ``fermiclass benchmark NAME``."""
