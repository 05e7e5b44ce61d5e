"""Produces one message and consumes it in a new group. Arguments: address, topic, message, and maybe user and password."""
import sys

from confluent_kafka import Consumer, Producer

address, topic, message, *login = sys.argv[1:]
settings = {"bootstrap.servers": address}
if login:
    user, password = login
    settings |= {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    settings |= {"sasl.username": user, "sasl.password": password}


errors = []


def note(error, *_):
    if error:
        errors.append(str(error))


# For how long a topic that is not there may still be in creation. The default is half a minute.
creation = {"topic.metadata.propagation.max.ms": 5000}
producer = Producer(settings | creation | {"error_cb": note})
producer.produce(topic, message, key="round-trip", on_delivery=note)
while producer.flush(0.1) > 0 and not errors:
    pass
if errors:
    sys.exit("\n".join(errors))

consumer = Consumer(settings | {"group.id": "round-trip", "auto.offset.reset": "earliest"})
consumer.subscribe([topic])
while True:
    received = consumer.poll(1)
    if received is not None and not received.error():
        break
print(received.value().decode())
consumer.close()
