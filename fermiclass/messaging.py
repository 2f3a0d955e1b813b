"""Handing tables to other applications, such as TOPCAT and Aladin, by SAMP (the IVOA's messaging protocol 1.3)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fermiclass.errors import MessagingError
from fermiclass.settings import SENDABLE

_TIMEOUT = 60  # seconds that an application may take to load a table
_HERE = "127.0.0.1"  # hub and applications are on this machine: no other can reach ours


def check_sendable(path: str | os.PathLike[str]) -> str:
    """Return the message type for a table's format: table.load.fits or table.load.votable.

    Raises
    ------
    MessagingError
        When there is none for the ending of `path`.
    """
    for ending, mtype in SENDABLE.items():
        if Path(path).name.lower().endswith(ending):
            return mtype
    raise MessagingError(
        f"'{path}' is of a format that cannot be sent; expected one of {', '.join(SENDABLE)}. Choose another ending."
    )


def check_hub() -> None:
    """Check that a SAMP hub runs.

    Raises
    ------
    MessagingError
        When none does.
    """
    with _connection():
        pass


def send_table(path: str | os.PathLike[str], name: str | None = None) -> list[str]:
    """Have every application at the SAMP hub that takes such tables load a file, and wait until it has.

    Parameters
    ----------
    path
        A FITS file or VOTable; it must stay where it is.
    name
        What the table is to be called; by default the file's name.

    Returns
    -------
    list of str
        The names of the applications that have loaded it.

    Raises
    ------
    MessagingError
        When the file's format is another, no hub runs or it stops meanwhile, no application takes the table, or none
        could load it.
    """
    from pyvo.samp import SAMP_STATUS_OK, SAMPHubError, SAMPProxyError

    mtype, file = check_sendable(path), Path(path).resolve()
    message = {
        "samp.mtype": mtype,
        "samp.params": {"url": file.as_uri(), "table-id": file.as_uri(), "name": name or file.name},
    }
    loaded, refused = [], []
    with _connection() as client:
        receivers = sorted(client.get_subscribed_clients(mtype))
        for receiver in receivers:
            who = str(client.get_metadata(receiver).get("samp.name", receiver))
            try:
                reply = client.call_and_wait(receiver, message, str(_TIMEOUT))
            except (SAMPHubError, SAMPProxyError) as error:  # it does not answer, or has gone
                refused.append(f"{who}: {' '.join(str(error).split())}")
                continue
            if reply.get("samp.status") == SAMP_STATUS_OK:
                loaded.append(who)
            else:
                refused.append(f"{who}: {reply.get('samp.error', {}).get('samp.errortxt', 'no reason given')}")
    if not receivers:
        raise MessagingError(
            f"no application at the SAMP hub takes tables ({mtype}). Start TOPCAT or Aladin, and load '{path}' there."
        )
    if not loaded:
        raise MessagingError(f"no application has loaded '{path}' ({'; '.join(refused)}). Load it there by hand.")
    return loaded


@contextmanager
def _connection() -> Iterator[Any]:
    from pyvo.samp import SAMPClientError, SAMPHubError, SAMPIntegratedClient, SAMPProxyError

    failures = (SAMPClientError, SAMPHubError, SAMPProxyError, OSError)
    client = SAMPIntegratedClient(name="fermiclass", description="Classes of gamma-ray sources", addr=_HERE)
    try:
        client.connect()
    except failures as error:
        raise MessagingError(
            f"no SAMP hub answers ({' '.join(str(error).split())}). Start TOPCAT or Aladin, which bring one, or leave "
            "out --send."
        ) from error
    try:
        yield client
    except failures as error:
        raise MessagingError(
            f"the SAMP hub has stopped, or does not answer any more ({' '.join(str(error).split())}). Start it again, "
            "and load the table there by hand."
        ) from error
    finally:
        with suppress(*failures):  # what was sent is there, even if nobody hears us leave
            client.disconnect()
