from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Generic, Self

from .calls import CallOptions, Progress, _Call, _cancel, _Op, _poll, _result, _resumed, _start, _watch
from .client_base import Args, Files, Result, _Bound, _Core
from .content import _Facts, _pieces
from .drivers import _AsyncDriver
from .effects import T
from .exchange import ClientOptions, _Deadline
from .media import Media
from .streams import _Subscription


class AsyncContent:
    """The bytes of a result. Every piece is verified before you get it. A broken download is resumed."""

    def __init__(self, driver: _AsyncDriver, call: _Call, chunked: bool) -> None:
        self._driver = driver
        self._call = call
        self._chunked = chunked
        self._facts = _Facts()

    @property
    def request_id(self) -> str:
        return self._call.request_id

    @property
    def mime_type(self) -> str | None:
        """Known with the first piece."""
        return self._facts.mime_type

    @property
    def filename(self) -> str | None:
        return self._facts.filename

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._driver.iterate(_pieces(self._call, self._chunked, self._facts))

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self])

    async def save(self, path: str | os.PathLike[str]) -> None:
        """The file appears when it is complete."""
        part = f"{os.fspath(path)}.part"
        try:
            with open(part, "wb") as file:
                async for piece in self:
                    file.write(piece)
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.remove(part)
            raise


class AsyncRun(Generic[Result]):
    """A call that the server has accepted. Keep `request_id` to follow it later, also from another program."""

    def __init__(self, driver: _AsyncDriver, call: _Call, chunked: bool = False) -> None:
        self._driver = driver
        self._call = call
        self._chunked = chunked

    @property
    def request_id(self) -> str:
        return self._call.request_id

    async def poll(self) -> Progress:
        """Asks once. Raises the fault if the call has failed."""
        return await self._driver.run(_poll(self._call))

    def progress(self) -> AsyncIterator[Progress]:
        """Every change until the end of the call."""
        return self._driver.iterate(_watch(self._call))

    async def result(self, timeout: float | None = None) -> Result:
        """Waits for the end. The result or the fault can be asked for again."""
        if timeout is not None:
            self._call.deadline = _Deadline.after(timeout, self.request_id)
        value: Result = await self._driver.run(_result(self._call))
        return value

    def content(self) -> AsyncContent:
        """The result as bytes, for operations whose result is a file."""
        return AsyncContent(self._driver, self._call, self._chunked)

    async def cancel(self) -> Progress:
        return await self._driver.run(_cancel(self._call))


class AsyncStream(Generic[T]):
    """The frames of a stream. It reconnects, and it subscribes again before the subscription expires."""

    def __init__(self, driver: _AsyncDriver, subscription: _Subscription) -> None:
        self._driver = driver
        self._subscription = subscription
        self._frames: AsyncIterator[T] = driver.iterate(subscription.frames())

    @property
    def request_id(self) -> str | None:
        """The id of the current subscription."""
        return self._subscription.request_id

    async def __aiter__(self) -> AsyncIterator[T]:
        try:
            async for frame in self._frames:
                yield frame
            self._subscription.over = True
        finally:
            await self.close()

    async def close(self) -> None:
        """Unsubscribes. Leaving a loop over the frames does it, too."""
        close = getattr(self._frames, "aclose", None)
        if close is not None:
            await close()
        await self._driver.run(self._subscription.leave())

    async def __aenter__(self) -> AsyncStream[T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncOperation(_Bound[Args], Generic[Args, Result, Files]):
    """Call it for its result, or `start` it for a run to follow."""

    def __init__(self, core: _Core, driver: _AsyncDriver, op: _Op) -> None:
        super().__init__(core, op)
        self._driver = driver

    async def __call__(self, args: Args, *, media: Files | None = None, options: CallOptions = CallOptions()) -> Result:
        self._core.warn(self._op)
        call = await self._driver.run(_start(self._core.exchange, self._op, args, media, options, True))
        value: Result = await self._driver.run(_result(call))
        return value

    async def start(
        self, args: Args, *, media: Files | None = None, options: CallOptions = CallOptions()
    ) -> AsyncRun[Result]:
        self._core.warn(self._op)
        return AsyncRun(
            self._driver, await self._driver.run(_start(self._core.exchange, self._op, args, media, options, False))
        )

    async def content(
        self, args: Args, *, media: Files | None = None, options: CallOptions = CallOptions()
    ) -> AsyncContent:
        """The result as bytes, for an operation that returns a file."""
        self._core.warn(self._op)
        call = await self._driver.run(_start(self._core.exchange, self._op, args, media, options, True))
        return AsyncContent(self._driver, call, False)

    def resume(self, request_id: str, timeout: float | None = None) -> AsyncRun[Result]:
        return AsyncRun(self._driver, _resumed(self._core.exchange, request_id, timeout))


class AsyncContentOperation(_Bound[Args], Generic[Args, Result, Files]):
    """Its result is bytes. They can be read while the rest is still being made."""

    def __init__(self, core: _Core, driver: _AsyncDriver, op: _Op) -> None:
        super().__init__(core, op)
        self._driver = driver

    async def __call__(
        self, args: Args, *, media: Files | None = None, options: CallOptions = CallOptions()
    ) -> AsyncContent:
        return (await self.start(args, media=media, options=options)).content()

    async def start(
        self, args: Args, *, media: Files | None = None, options: CallOptions = CallOptions()
    ) -> AsyncRun[Result]:
        self._core.warn(self._op)
        call = await self._driver.run(_start(self._core.exchange, self._op, args, media, options, False))
        return AsyncRun(self._driver, call, True)

    def resume(self, request_id: str, timeout: float | None = None) -> AsyncRun[Result]:
        return AsyncRun(self._driver, _resumed(self._core.exchange, request_id, timeout), True)


class AsyncStreamOperation(_Bound[Args], Generic[Args, Result]):
    """Its result is a stream of frames."""

    def __init__(self, core: _Core, driver: _AsyncDriver, op: _Op) -> None:
        super().__init__(core, op)
        self._driver = driver

    def __call__(
        self, args: Args, *, reconnect: bool = True, options: CallOptions = CallOptions()
    ) -> AsyncStream[Result]:
        self._core.warn(self._op)
        return AsyncStream(self._driver, _Subscription(self._core.exchange, self._op, args, options, reconnect))


class _AsyncClientBase:
    """Calls of any operation by its name. `Client` below adds the operations of the server."""

    def __init__(
        self,
        url: str,
        token: str | Callable[[], str | None | Awaitable[str | None]] | None,
        options: ClientOptions,
        remedies: dict[str, str],
    ) -> None:
        self._core = _Core(url, callable(token), options, remedies)
        self._driver = _AsyncDriver(token, self._core.reach, self._core.context)

    async def call(
        self,
        op: str,
        args: Mapping[str, Any],
        *,
        media: Mapping[str, Media] | None = None,
        options: CallOptions = CallOptions(),
    ) -> Any:
        """Calls an operation by its name, such as `v1:orders.getItem`."""
        call = await self._driver.run(_start(self._core.exchange, _Op(op), args, media, options, True))
        return await self._driver.run(_result(call))

    async def start(
        self,
        op: str,
        args: Mapping[str, Any],
        *,
        media: Mapping[str, Media] | None = None,
        options: CallOptions = CallOptions(),
    ) -> AsyncRun[Any]:
        return AsyncRun(
            self._driver, await self._driver.run(_start(self._core.exchange, _Op(op), args, media, options, False))
        )

    def stream(
        self, op: str, args: Mapping[str, Any], *, reconnect: bool = True, options: CallOptions = CallOptions()
    ) -> AsyncStream[Any]:
        """Subscribes to an operation by its name."""
        return AsyncStream(self._driver, _Subscription(self._core.exchange, _Op(op), args, options, reconnect))

    def resume(self, request_id: str, timeout: float | None = None) -> AsyncRun[Any]:
        """Follows a call that was started earlier."""
        return AsyncRun(self._driver, _resumed(self._core.exchange, request_id, timeout))

    async def registry(self, timeout: float | None = None) -> dict[str, Any]:
        """What the server offers now."""
        return await self._driver.run(self._core.registry(timeout))

    def close(self) -> None:
        """Closes the connections that wait for the next call."""
        self._core.exchange.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
