"""Data and settings of the tests of the package."""

from tests.conftest import no_writer_in_c, pytest_xdist_auto_num_workers, shared_data

__all__ = ["no_writer_in_c", "pytest_xdist_auto_num_workers", "shared_data"]
