"""Tools on the server of the package langchain-tool-server. The argument is the port."""
import sys

import uvicorn
from langchain_tool_server import Server, tool


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@tool
def explode() -> str:
    """Fails."""
    raise RuntimeError("boom")


app = Server()
app._add_tools(add, explode)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="info")
