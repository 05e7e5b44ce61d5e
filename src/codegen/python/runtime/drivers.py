from __future__ import annotations

import asyncio
import inspect
import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, cast

from .effects import T, _AskToken, _Connect, _Effect, _Item, _ItemSteps, _Receive, _Sleep, _Steps
from .exchange import _closeness
from .faults import Fault, _Broken, _Late

_PIECE = 256 * 1024


class _Reach:
    """Which addresses another origin may have: none that is nearer to this machine than the server itself is."""

    def __init__(self, home: tuple[str, str, int], trusted: frozenset[tuple[str, str, int]]) -> None:
        self._home = home
        self._trusted = trusted
        self._closest = 0

    def check(self, effect: _Connect, address: str) -> None:
        origin = (effect.scheme, effect.host, effect.port)
        closeness = _closeness(address)
        if origin == self._home:
            self._closest = closeness
        elif origin not in self._trusted and (closeness == 3 or closeness > self._closest):
            message = f"The server names {effect.host}, which is a private address. Add its origin to trusted_origins."
            raise Fault("LOCATION_REFUSED", message)


def _left(until: float) -> float | None:
    if until == float("inf"):
        return None
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise _Late("timed out")
    return seconds


class _SocketConnection:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    def close(self) -> None:
        self.sock.close()


class _SocketDriver:
    """Does with blocking sockets what the logic asks for."""

    def __init__(
        self, token: str | Callable[[], str | None] | None, reach: _Reach, context: Callable[[], ssl.SSLContext]
    ) -> None:
        self._token = token
        self._reach = reach
        self._context = context

    def _perform(self, effect: _Effect) -> Any:
        if isinstance(effect, _Sleep):
            return time.sleep(effect.seconds)
        if isinstance(effect, _AskToken):
            return self._token() if callable(self._token) else self._token
        try:
            if isinstance(effect, _Connect):
                return self._connect(effect)
            sock = cast(_SocketConnection, effect.connection).sock
            if isinstance(effect, _Receive):
                sock.settimeout(_left(effect.until))
                return sock.recv(_PIECE)
            for at in range(0, len(effect.data), _PIECE):
                sock.settimeout(_left(effect.until))
                sock.sendall(effect.data[at : at + _PIECE])
            return None
        except TimeoutError as error:
            raise _Late("timed out") from error
        except OSError as error:
            raise _Broken(str(error)) from error

    def _connect(self, effect: _Connect) -> _SocketConnection:
        failure: OSError = OSError(f"{effect.host} has no address")
        for family, kind, protocol, _, address in socket.getaddrinfo(effect.host, effect.port, type=socket.SOCK_STREAM):
            self._reach.check(effect, str(address[0]))
            sock = socket.socket(family, kind, protocol)
            try:
                sock.settimeout(_left(effect.until))
                sock.connect(address)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if effect.scheme == "https":
                    sock = self._context().wrap_socket(sock, server_hostname=effect.host)
                return _SocketConnection(sock)
            except OSError as error:
                sock.close()
                failure = error
            except BaseException:
                sock.close()
                raise
        raise failure

    def run(self, steps: _Steps[T]) -> T:
        try:
            effect = next(steps)
            while True:
                try:
                    value = self._perform(effect)
                except BaseException as error:
                    effect = steps.throw(error)
                else:
                    effect = steps.send(value)
        except StopIteration as end:
            return cast(T, end.value)
        finally:
            steps.close()

    def iterate(self, steps: _ItemSteps[T]) -> Iterator[T]:
        try:
            effect = next(steps)
            while True:
                if isinstance(effect, _Item):
                    yield effect.value
                    effect = next(steps)
                    continue
                try:
                    value = self._perform(effect)
                except BaseException as error:
                    effect = steps.throw(error)
                else:
                    effect = steps.send(value)
        except StopIteration:
            return
        finally:
            steps.close()


class _AsyncConnection(asyncio.Protocol):
    """Keeps what has arrived when the connection breaks, such as the refusal of a file. asyncio's own streams drop it."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._ended = False
        self._failure: Exception | None = None
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._arrived.set()
        if len(self._received) > _PIECE and self._transport is not None:
            self._transport.pause_reading()

    def eof_received(self) -> None:
        self._ended = True
        self._arrived.set()

    def connection_lost(self, error: Exception | None) -> None:
        self._ended = True
        self._failure = error
        # A transport that has ended cannot be aborted.
        self._transport = None
        self._arrived.set()
        self._room.set()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    async def receive(self) -> bytes:
        while not self._received:
            if self._failure is not None:
                raise _Broken(str(self._failure))
            if self._ended:
                return b""
            self._arrived.clear()
            await self._arrived.wait()
        data = bytes(self._received)
        self._received.clear()
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
        return data

    async def send(self, data: bytes) -> None:
        for at in range(0, len(data), _PIECE):
            if self._transport is None or self._ended or self._transport.is_closing():
                raise _Broken("the connection was closed")
            self._transport.write(data[at : at + _PIECE])
            await self._room.wait()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class _AsyncDriver:
    """Does with asyncio what the logic asks for. A cancelled task closes its connection at once."""

    def __init__(
        self,
        token: str | Callable[[], str | None | Awaitable[str | None]] | None,
        reach: _Reach,
        context: Callable[[], ssl.SSLContext],
    ) -> None:
        self._token = token
        self._reach = reach
        self._context = context

    async def _perform(self, effect: _Effect) -> Any:
        if isinstance(effect, _Sleep):
            return await asyncio.sleep(effect.seconds)
        if isinstance(effect, _AskToken):
            token = self._token() if callable(self._token) else self._token
            return await token if inspect.isawaitable(token) else token
        try:
            async with asyncio.timeout(_left(effect.until)):
                if isinstance(effect, _Connect):
                    return await self._connect(effect)
                connection = cast(_AsyncConnection, effect.connection)
                if connection.loop is not asyncio.get_running_loop():
                    raise _Broken("the connection belongs to an event loop that has ended")
                if isinstance(effect, _Receive):
                    return await connection.receive()
                return await connection.send(effect.data)
        except TimeoutError as error:
            raise _Late("timed out") from error
        except OSError as error:
            raise _Broken(str(error)) from error

    async def _connect(self, effect: _Connect) -> _AsyncConnection:
        failure: OSError = OSError(f"{effect.host} has no address")
        loop = asyncio.get_running_loop()
        secure: dict[str, Any] = {}
        if effect.scheme == "https":
            secure = {"ssl": self._context(), "server_hostname": effect.host}
        for _, _, _, _, address in await loop.getaddrinfo(effect.host, effect.port, type=socket.SOCK_STREAM):
            self._reach.check(effect, str(address[0]))
            try:
                host = str(address[0])
                return (await loop.create_connection(_AsyncConnection, host, effect.port, **secure))[1]
            except OSError as error:
                failure = error
        raise failure

    async def run(self, steps: _Steps[T]) -> T:
        try:
            effect = next(steps)
            while True:
                try:
                    value = await self._perform(effect)
                except BaseException as error:
                    effect = steps.throw(error)
                else:
                    effect = steps.send(value)
        except StopIteration as end:
            return cast(T, end.value)
        finally:
            steps.close()

    async def iterate(self, steps: _ItemSteps[T]) -> AsyncIterator[T]:
        try:
            effect = next(steps)
            while True:
                if isinstance(effect, _Item):
                    yield effect.value
                    effect = next(steps)
                    continue
                try:
                    value = await self._perform(effect)
                except BaseException as error:
                    effect = steps.throw(error)
                else:
                    effect = steps.send(value)
        except StopIteration:
            return
        finally:
            steps.close()
