"""A Kafka client that a test drives: messages to produce arrive on standard input, consumed ones leave on standard output.

Arguments: address, settings as JSON (librdkafka's names), and the topics to consume from their beginning.
Input, one JSON object per line: topic, key, value (base64) or size (that many bytes), headers.
"""
import base64
import json
import sys
import threading

from confluent_kafka import Consumer, Producer, TopicPartition

address, settings, *topics = sys.argv[1:]
settings = json.loads(settings) | {"bootstrap.servers": address}
lock = threading.Lock()


def tell(what):
    with lock:
        print(json.dumps(what), flush=True)


def consume():
    consumer = Consumer(settings | {"group.id": "peer", "enable.auto.commit": False, "fetch.wait.max.ms": 50,
                                    "fetch.message.max.bytes": 50_000_000})
    partitions = []
    for topic in topics:
        found = consumer.list_topics(topic).topics[topic].partitions
        partitions += [TopicPartition(topic, number, 0) for number in found]
    consumer.assign(partitions)
    tell({"ready": True})
    while True:
        message = consumer.poll(1)
        if message is None or message.error():
            continue
        tell({
            "topic": message.topic(),
            "partition": message.partition(),
            "key": message.key().decode() if message.key() is not None else None,
            "value": base64.b64encode(message.value() or b"").decode(),
            "headers": {name: value.decode() for name, value in message.headers() or []},
        })


threading.Thread(target=consume, daemon=True).start()
producer = Producer(settings | {"linger.ms": 1, "message.max.bytes": 100_000_000})


def delivered(number):
    return lambda error, _: tell({"delivered": number, "error": str(error) if error else None})


def serve_deliveries():
    while True:
        producer.poll(1)


threading.Thread(target=serve_deliveries, daemon=True).start()
for number, line in enumerate(sys.stdin):
    order = json.loads(line)
    value = b"x" * order["size"] if "size" in order else base64.b64decode(order["value"])
    headers = list(order.get("headers", {}).items())
    producer.produce(order["topic"], value, key=order.get("key"), headers=headers, on_delivery=delivered(number))
producer.flush()
