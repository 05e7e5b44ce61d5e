"""Does what each line of its input says with a generated client, and prints what came of it: a line for a line."""
# ruff: noqa
import asyncio
import base64
import json
import sys
from typing import Any

from callplane_client import AsyncClient, CallOptions, Client, ClientOptions, Fault, Media, Progress


def options(wish: dict[str, Any]) -> CallOptions:
    timeout = wish.get("timeoutMs")
    return CallOptions(
        timeout=None if timeout is None else timeout / 1000,
        idempotency_key=wish.get("idempotencyKey"),
        request_id=wish.get("requestId"),
        session_id=wish.get("sessionId"),
    )


def media(wish: dict[str, Any]) -> dict[str, Media] | None:
    files = wish.get("media")
    if files is None:
        return None
    return {name: Media.data(file["text"].encode(), file["type"], file["name"]) for name, file in files.items()}


def progress(now: Progress) -> dict[str, Any]:
    return {"state": now.state, "fraction": now.fraction, "message": now.message}


def fault(error: Fault) -> dict[str, Any]:
    wait = None if error.retry_after is None else round(error.retry_after * 1000)
    return {
        "fault": error.code,
        "status": error.status or 0,
        "retryable": error.retryable,
        "retryAfterMs": wait,
        "remedy": error.remedy,
        "hasId": error.request_id is not None,
    }


def content(data: bytes, mime_type: str | None) -> dict[str, Any]:
    return {"bytes": base64.b64encode(data).decode(), "mimeType": mime_type}


def tell(client: Client, wish: dict[str, Any]) -> Any:
    do, args = wish["do"], wish.get("args", {})
    if do == "call":
        return {"result": client.call(wish["op"], args, media=media(wish), options=options(wish))}
    if do == "registry":
        return {"operations": [len(client.registry()["operations"]) for _ in range(2)]}
    if do == "stream":
        frames = []
        with client.stream(wish["op"], args, reconnect=wish.get("reconnect", True), options=options(wish)) as stream:
            for frame in stream:
                frames.append(frame)
                if len(frames) == 1 and "command" in wish:
                    client.call(wish["command"], {}, options=options(wish))
                if len(frames) == wish.get("take"):
                    break
        return {"frames": frames}
    if do == "start":
        run = client.start(wish["op"], args, options=options(wish))
    else:
        run = client.resume(wish["id"])
    told: dict[str, Any] = {"id": run.request_id}
    if "progress" in wish["next"]:
        told["progress"] = [progress(now) for now in run.progress()]
    if "cancel" in wish["next"]:
        told["cancel"] = run.cancel().state
    if "result" in wish["next"]:
        told["result"] = run.result()
    if "content" in wish["next"]:
        pieces = run.content()
        told.update(content(pieces.read(), pieces.mime_type))
    return told


async def tell_async(client: AsyncClient, wish: dict[str, Any]) -> Any:
    do, args = wish["do"], wish.get("args", {})
    if do == "call":
        return {"result": await client.call(wish["op"], args, media=media(wish), options=options(wish))}
    if do == "registry":
        return {"operations": [len((await client.registry())["operations"]) for _ in range(2)]}
    if do == "stream":
        frames = []
        async with client.stream(
            wish["op"], args, reconnect=wish.get("reconnect", True), options=options(wish)
        ) as stream:
            async for frame in stream:
                frames.append(frame)
                if len(frames) == 1 and "command" in wish:
                    await client.call(wish["command"], {}, options=options(wish))
                if len(frames) == wish.get("take"):
                    break
        return {"frames": frames}
    if do == "start":
        run = await client.start(wish["op"], args, options=options(wish))
    else:
        run = client.resume(wish["id"])
    told: dict[str, Any] = {"id": run.request_id}
    if "progress" in wish["next"]:
        told["progress"] = [progress(now) async for now in run.progress()]
    if "cancel" in wish["next"]:
        told["cancel"] = (await run.cancel()).state
    if "result" in wish["next"]:
        told["result"] = await run.result()
    if "content" in wish["next"]:
        pieces = run.content()
        told.update(content(await pieces.read(), pieces.mime_type))
    return told


def settings(wish: dict[str, Any]) -> ClientOptions:
    return ClientOptions(trusted_origins=wish.get("trusted", []), retries=wish.get("retries", 3))


def tokens(wish: dict[str, Any]) -> Any:
    """Several tokens are those that a source returns, one after the other."""
    token = wish.get("token")
    return (lambda: token.pop(0) if len(token) > 1 else token[0]) if isinstance(token, list) else token


async def all_async(url: str, setup: dict[str, Any], wishes: list[dict[str, Any]]) -> list[Any]:
    told = []
    async with AsyncClient(url, tokens(setup), settings(setup)) as client:
        for wish in wishes:
            try:
                told.append(await tell_async(client, wish))
            except Fault as error:
                told.append(fault(error))
    return told


def all_sync(url: str, setup: dict[str, Any], wishes: list[dict[str, Any]]) -> list[Any]:
    told = []
    with Client(url, tokens(setup), settings(setup)) as client:
        for wish in wishes:
            try:
                told.append(tell(client, wish))
            except Fault as error:
                told.append(fault(error))
    return told


for line in sys.stdin:
    url, setup, wishes = json.loads(line)
    told = asyncio.run(all_async(url, setup, wishes)) if "--async" in sys.argv else all_sync(url, setup, wishes)
    print(json.dumps(told), flush=True)
