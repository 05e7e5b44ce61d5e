"""Calls an operation and reads streams with the package websockets: on a shared connection, and on one of its own."""
import asyncio
import json
import struct
import sys

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus


async def main(url: str, token: str) -> None:
    said: dict[str, object] = {}
    headers = {"Authorization": f"Bearer {token}"}
    async with connect(f"{url}/call", additional_headers=headers) as socket:
        await socket.send(json.dumps({"op": "v1:clock.tick", "args": {"count": 3}, "ctx": {"requestId": "r"}}))
        shared: list[object] = []
        while True:
            message = await socket.recv()
            if isinstance(message, str):
                shared.append(json.loads(message)["state"])
                if shared[-1] == "complete":
                    break
            else:
                shared.append([struct.unpack(">I", message[:4])[0], json.loads(message[4:])["n"]])
        said["shared"] = shared
        await socket.send(json.dumps({"op": "v1:clock.tick", "args": {"count": 2, "transport": "wss"}}))
        stream = json.loads(await socket.recv())["stream"]

    key = {"Authorization": f"OTK {stream['auth']['credential']}"}
    frames: list[object] = []
    async with connect(stream["location"], additional_headers=key) as own:
        try:
            while True:
                frames.append(await own.recv())
        except ConnectionClosed as closed:
            said["closed"] = [closed.rcvd.code, closed.rcvd.reason]
    said["frames"] = frames
    try:
        async with connect(stream["location"], additional_headers=key):
            said["again"] = "open"
    except InvalidStatus as refused:
        said["again"] = [refused.response.status_code, json.loads(refused.response.body)["error"]["code"]]
    print(json.dumps(said))


asyncio.run(main(*sys.argv[1:]))
