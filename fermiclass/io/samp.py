"""Sending of tables to other applications, such as TOPCAT and Aladin, by SAMP (the IVOA's messaging protocol 1.3)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fermiclass.errors import MessagingError, in_one_line

#: Types of the messages by the ending of the table.
SENDABLE = {".fits": "table.load.fits", ".fits.gz": "table.load.fits", ".vot": "table.load.votable"}

_TIMEOUT = 60  # seconds that an application may take to load a table
_HERE = "127.0.0.1"  # hub and applications are on this machine; no other machine can reach us


def check_sendable(path: str | os.PathLike[str]) -> str:
    """Return the message type for the format of a table. Raises MessagingError when it cannot be sent."""
    for ending, mtype in SENDABLE.items():
        if Path(path).name.lower().endswith(ending):
            return mtype
    raise MessagingError(
        f"'{path}' has a format that cannot be sent; expected one of {', '.join(SENDABLE)}. Choose another ending."
    )


def check_hub() -> None:
    """Raise MessagingError when no SAMP hub answers."""
    with _connection():
        pass


def send_table(path: str | os.PathLike[str]) -> list[str]:
    """Send a table to every application at the SAMP hub that accepts its format, and wait until it is loaded.

    `path` is a FITS file or VOTable, which must not be moved afterwards. Returns the names of the applications that
    have loaded it. Raises MessagingError when the file has another format, no hub runs or it stops, no application
    accepts the table, or none loads it.
    """
    from pyvo.samp import SAMP_STATUS_OK, SAMPHubError, SAMPProxyError

    mtype, file = check_sendable(path), Path(path).resolve()
    about = {"url": file.as_uri(), "table-id": file.as_uri(), "name": file.name}
    loaded: list[str] = []
    refused: list[str] = []
    with _connection() as client:
        receivers = sorted(client.get_subscribed_clients(mtype))
        for receiver in receivers:
            who = str(client.get_metadata(receiver).get("samp.name", receiver))
            try:
                reply = client.ecall_and_wait(receiver, mtype, str(_TIMEOUT), **about)
                reason = reply.get("samp.error", {}).get("samp.errortxt", "no reason given")
                is_loaded = reply.get("samp.status") == SAMP_STATUS_OK
            except (SAMPHubError, SAMPProxyError) as error:  # the application does not answer
                reason, is_loaded = in_one_line(error), False
            (loaded if is_loaded else refused).append(who if is_loaded else f"{who}: {reason}")
    if not receivers:
        raise MessagingError(
            f"no application at the SAMP hub accepts tables ({mtype}). Start TOPCAT or Aladin, and load '{path}' there."
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
            f"no SAMP hub answers ({in_one_line(error)}). Start TOPCAT or Aladin, which contain a hub, or leave out "
            "--send."
        ) from error
    try:
        yield client
    except failures as error:
        raise MessagingError(
            f"the SAMP hub has stopped, or does not answer any more ({in_one_line(error)}). Start it again, and load "
            "the table there by hand."
        ) from error
    finally:
        with suppress(*failures):  # the table has been sent, even if the hub does not see us leave
            client.disconnect()
