"""``python -m fermiclass`` is the command ``fermiclass``."""

from fermiclass.cli.app import main

main()
