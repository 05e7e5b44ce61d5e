"""Calls over MQTT with Python's paho: a call, a stream and its end. Prints what it received, one JSON per line."""

import json
import sys
import queue

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

port, version, auth = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
protocol = mqtt.MQTTv5 if version == "5" else mqtt.MQTTv311
received = queue.Queue()
subscribed = queue.Queue()

client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=protocol)
client.on_message = lambda _client, _data, message: received.put(message)
client.on_subscribe = lambda *_: subscribed.put(True)
client.connect("127.0.0.1", port)
client.loop_start()


def subscribe(topic):
    client.subscribe(topic, qos=1)
    subscribed.get(timeout=20)


def call(op, args, context, response_topic=None):
    properties = None
    if response_topic:
        properties = Properties(PacketTypes.PUBLISH)
        properties.ResponseTopic = response_topic
        properties.CorrelationData = b"from-paho"
    envelope = {"op": op, "args": args, "ctx": context, "auth": auth}
    client.publish(f"ops/{op}", json.dumps(envelope), qos=1, properties=properties).wait_for_publish(20)


def show():
    message = received.get(timeout=20)
    correlation = getattr(getattr(message, "properties", None), "CorrelationData", None)
    print(json.dumps([message.topic, json.loads(message.payload), correlation and correlation.decode()]))
    return json.loads(message.payload)


# The caller subscribes to the response topic before it publishes.
subscribe("ops/p1/response")
call("v1:sums.add", {"a": 20, "b": 22}, {"requestId": "p1"})
show()
if version == "5":
    subscribe("replies/paho")
    call("v1:sums.add", {"a": 1, "b": 1}, {"requestId": "p2"}, "replies/paho")
    show()
subscribe("ops/p3/response")
subscribe("streams/paho/#")
call("v1:clock.tick", {"count": 2}, {"requestId": "p3", "sessionId": "paho"})
while show().get("state") != "complete":
    pass
client.disconnect()
