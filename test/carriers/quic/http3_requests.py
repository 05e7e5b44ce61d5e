"""Sends HTTP/3 requests together on one connection, with aioquic. Arguments: port, certificate, and the requests as JSON:
[{"method", "path", "headers", "body"}]. Prints [{"stream", "status", "headers", "body" (base64), "reset"}] as JSON."""
import asyncio
import base64
import json
import sys

from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamReset

port, certificate, requests = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.replies = {}
        self.done = {}

    def send(self, request):
        stream = self._quic.get_next_available_stream_id()
        self.replies[stream] = {"stream": stream, "headers": {}, "body": b"", "reset": None}
        self.done[stream] = asyncio.get_event_loop().create_future()
        body = request.get("body", "").encode()
        pseudo = {
            ":method": request.get("method", "GET"),
            ":scheme": "https",
            ":authority": f"127.0.0.1:{port}",
            ":path": request["path"],
        }
        fields = {**pseudo, **request.get("headers", {})}
        pairs = [(name.encode(), value.encode()) for name, value in fields.items()]
        self.http.send_headers(stream, pairs, end_stream=not body)
        if body:
            self.http.send_data(stream, body, end_stream=True)
        self.transmit()
        return self.done[stream]

    def quic_event_received(self, event):
        if isinstance(event, StreamReset) and event.stream_id in self.replies:
            self.replies[event.stream_id]["reset"] = event.error_code
            self.finish(event.stream_id)
        for http in self.http.handle_event(event):
            reply = self.replies[http.stream_id]
            if isinstance(http, HeadersReceived):
                reply["headers"] = {name.decode(): value.decode() for name, value in http.headers}
            elif isinstance(http, DataReceived):
                reply["body"] += http.data
            if http.stream_ended:
                self.finish(http.stream_id)

    def finish(self, stream):
        if not self.done[stream].done():
            self.done[stream].set_result(None)


async def main():
    settings = QuicConfiguration(is_client=True, alpn_protocols=["h3"], cafile=certificate, server_name="localhost")
    async with connect("127.0.0.1", port, configuration=settings, create_protocol=Client) as client:
        await asyncio.gather(*[client.send(request) for request in requests])
        replies = [
            {
                **reply,
                "status": int(reply["headers"].pop(":status", 0)),
                "body": base64.b64encode(reply["body"]).decode(),
            }
            for reply in client.replies.values()
        ]
        print(json.dumps(replies))


asyncio.run(main())
