"""Tools on the server of the package universal-tool-server. The argument is the port."""
import sys

import uvicorn
from universal_tool_server import Auth, Server

app = Server()
auth = Auth()
app.add_auth(auth)


@auth.authenticate
async def authenticate(authorization: str) -> dict:
    if authorization != "Bearer a-token":
        raise auth.exceptions.HTTPException(status_code=401, detail="Unknown token")
    return {"identity": "ada", "permissions": ["counts"]}


@app.add_tool()
async def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@app.add_tool(version="2.0.0")
async def greet(name: str) -> dict:
    """Greets somebody."""
    return {"text": f"Hello {name}"}


runs = 0


@app.add_tool(permissions=["counts"])
async def count() -> int:
    """Counts its runs, and fails the first time."""
    global runs
    runs += 1
    if runs == 1:
        raise RuntimeError("not yet")
    return runs


uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="info")
