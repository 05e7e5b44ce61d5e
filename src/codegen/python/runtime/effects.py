from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")

# The logic of the client is written once, as generators. They yield what they need from the network, and a driver
# does it: `_drive` with sockets, `_drive_async` with asyncio. So the two clients cannot differ.


class _Connection(Protocol):
    def close(self) -> None: ...


@dataclass(frozen=True)
class _Connect:
    scheme: str
    host: str
    port: int
    until: float


@dataclass(frozen=True)
class _Send:
    connection: _Connection
    data: bytes
    until: float


@dataclass(frozen=True)
class _Receive:
    """The driver returns at least one byte, or none at the end of the connection."""

    connection: _Connection
    until: float


@dataclass(frozen=True)
class _Sleep:
    seconds: float


@dataclass(frozen=True)
class _AskToken:
    """The driver returns the caller's token or `None`."""


@dataclass(frozen=True)
class _Item(Generic[T]):
    """One item for the program that iterates."""

    value: T


_Effect = _Connect | _Send | _Receive | _Sleep | _AskToken
_Steps = Generator[_Effect, Any, T]
_ItemSteps = Generator[_Effect | _Item[T], Any, None]
