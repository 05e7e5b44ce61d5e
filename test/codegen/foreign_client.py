"""Makes a client of an OpenAPI document with openapi-python-client, calls the server with it, and prints what it got."""

import asyncio
import io
import json
import subprocess
import sys

folder, url = sys.argv[1:]
with open(f"{folder}/config.yml", "w") as config:
    config.write("post_hooks: []\n")
generator = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"]
made = subprocess.run(
    [*generator, "--path", f"{folder}/openapi.json", "--output-path", f"{folder}/made", "--config", f"{folder}/config.yml"],
    capture_output=True,
    text=True,
)
if made.returncode != 0:
    sys.exit(made.stdout + made.stderr)
sys.path.insert(0, folder)

from made import Client, models  # noqa: E402
from made.api.calls import call, get_call, get_chunk  # noqa: E402
from made.api.files import files_describe_v1  # noqa: E402
from made.api.jobs import jobs_build_v2  # noqa: E402
from made.api.rows import rows_export_v1  # noqa: E402
from made.api.trees import trees_plant_v1  # noqa: E402
from made.types import File  # noqa: E402

client = Client(base_url=url)


def plant(value):
    tree = models.TreesPlantV1Args(value=value, children=[models.TreesPlantV1Args(value=2)])
    return trees_plant_v1.sync(client=client, body=models.TreesPlantV1Request(args=tree))


async def plant_async(value):
    body = models.TreesPlantV1Request(args=models.TreesPlantV1Args(value=value))
    return await trees_plant_v1.asyncio(client=client, body=body)


def build():
    request = models.JobsBuildV2Request(args=models.JobsBuildV2Args(name="house"))
    started = jobs_build_v2.sync_detailed(client=client, body=request, idempotency_key="k1")
    ended = get_call.sync(client=client, request_id=started.parsed.request_id, prefer="wait=20")
    return [started.status_code, type(started.parsed).__name__, ended.result]


def export():
    started = rows_export_v1.sync(client=client, body=models.RowsExportV1Request())
    get_call.sync(client=client, request_id=started.request_id, prefer="wait=20")
    return get_chunk.sync(client=client, request_id=started.request_id).data


def describe():
    media = [models.MediaEntry(name="file", mime_type="text/plain", part="file")]
    body = models.FilesDescribeV1FilesBody(
        envelope=models.FilesDescribeV1FilesBodyEnvelope(media=media),
        file=File(payload=io.BytesIO(b"hello"), file_name="a.txt", mime_type="text/plain"),
    )
    return files_describe_v1.sync(client=client, body=body).result


refused = trees_plant_v1.sync_detailed(
    client=client, body=models.TreesPlantV1Request(args=models.TreesPlantV1Args(value="text"))
)
envelope = models.TreesPlantV1Call(op="v1:trees.plant", args=models.TreesPlantV1Args(value=5))
print(
    json.dumps(
        {
            "sum": plant(1).result.sum_,
            "async": asyncio.run(plant_async(4)).result.sum_,
            "failure": plant(-9).error.code,
            "refused": [refused.status_code, refused.parsed.error.code],
            "built": build(),
            "csv": export(),
            "described": describe(),
            "envelope": call.sync(client=client, body=envelope).result,
        }
    )
)
