__version__ = "1.0.0.dev0"

#: The program as an entry of BibTeX.
__citation__ = f"""\
@software{{fermiclass,
  author = {{{{The fermiclass developers}}}},
  title = {{{{fermiclass}}: probabilistic classes for the unassociated sources of the {{Fermi-LAT}} catalogue}},
  version = {{{__version__}}},
  year = {{2026}},
  license = {{BSD-3-Clause}}
}}"""
