"""Client for Firstcome: first-come-first-served campaigns with exact ranks."""

from firstcome import documents
from firstcome._requests import Pick
from firstcome.aio import AsyncClient, AsyncHold
from firstcome.answers import AlreadyWon, Event, Refused, Unknown
from firstcome.client import Client, LiveHold
from firstcome.documents import *  # noqa: F403
from firstcome.errors import FirstcomeError, InvalidArgument, Rejected, Unavailable

__all__ = [
    "AlreadyWon", "AsyncClient", "AsyncHold", "Client", "Event", "FirstcomeError", "InvalidArgument", "LiveHold",
    "Pick", "Refused", "Rejected", "Unavailable", "Unknown", *documents.__all__,
]  # fmt: skip
