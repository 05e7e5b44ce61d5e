"""Every line with a mark has a mistake that a type checker finds."""
from callplane_client import Client, Media

client = Client("http://127.0.0.1:1")
client.orders.find({"orderId": 7})  # mistake
client.orders.find({"orderId": "7", "color": "rouge"})  # mistake
client.orders.find({})  # mistake
client.orders.find({"orderId": "7"})["price"]  # mistake
client.orders.lose({})  # mistake
client.files.describe({}, media={"paper": Media.data(b"", "text/plain")})  # mistake
client.reports.make.start({}).result().upper()  # mistake
client.numbers.count({"to": 1}).result()  # mistake
