"""Uses the typed client of a server, with and without asyncio, and prints what it got."""
import asyncio
import json
import sys
import warnings
from typing import assert_type

from callplane_client import AsyncClient, Client, Fault, Media, OrdersFindResult, Run, ShapesEchoResult

told: list[object] = []
client = Client(sys.argv[1])

found = client.orders.find({"orderId": "7", "color": "red"})
assert_type(found, OrdersFindResult)
name: str = found["name"]
note: str | None = found["note"]
told += [name, note, [child["name"] for child in found.get("children", [])]]

run = client.reports.make.start({})
assert_type(run, Run[int])
told.append(client.reports.make.resume(run.request_id).result() + 1)

for frame in client.numbers.count({"to": 2}):
    told.append(frame["n"])
told.append(client.files.export({}).read().decode())
told.append(client.files.describe({}, media={"file": Media.data(b"12345", "text/plain")}) + 0)
told.append(client.v2.orders.find({"orderId": 8}) + 0.5)

echo: ShapesEchoResult = client.shapes.echo({"a-b": 1, "class": None})
told.append(echo["a-b"])

try:
    client.orders.find({"orderId": "none"})
except Fault as fault:
    told.append(fault.code)

try:
    # Found without a server: nothing listens there.
    Client("http://127.0.0.1:1").files.describe({}, media={"file": Media.data(b"x" * 1001, "text/plain")})
except Fault as fault:
    told.append(fault.code)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    client.orders.old({"orderId": "1"})
    client.orders.old({"orderId": "2"})
told += [str(warning.message) for warning in caught if warning.category is DeprecationWarning]
client.close()


async def main() -> None:
    async with AsyncClient(sys.argv[1]) as api:
        both = await asyncio.gather(api.orders.find({"orderId": "7"}), api.reports.make({}))
        told.extend([both[0]["name"], both[1]])
        async for frame in api.numbers.count({"to": 1}):
            told.append(frame["n"])
        told.append((await (await api.files.export({})).read()).decode())


asyncio.run(main())
print(json.dumps(told))
