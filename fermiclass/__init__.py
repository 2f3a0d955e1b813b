"""fermiclass: probabilistic classes for the unassociated sources of the Fermi-LAT catalogue.

>>> import fermiclass as fc
>>> catalog = fc.read_catalog("4FGL-DR4.fits")
>>> labels = fc.classify(catalog)

TensorFlow is not imported before a model is built.
"""

from __future__ import annotations

import logging

import lazy_loader

from fermiclass._version import __citation__ as __citation__
from fermiclass._version import __version__ as __version__

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent until somebody asks for the records

# __init__.pyi says where each public name lives; its module is imported when the name is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
