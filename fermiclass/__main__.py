"""``python -m fermiclass`` is the command ``fermiclass``."""

from fermiclass.cli import main

main()
