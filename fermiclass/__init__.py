"""fermiclass: probabilistic classes for the unassociated sources of the Fermi-LAT catalogue."""
