/** A Python script of the repository that serves tools over OXP or OTC with a server from PyPI. */
import { join } from 'node:path'
import { TOOL_SERVERS_PYTHON } from './engines.ts'
import { freePort } from './free-port.ts'
import { type ServerProcess, startServer } from './server-process.ts'

export interface ToolServer extends ServerProcess {
  readonly url: string
}

const root = join(import.meta.dirname, '../..')

/** `script` is its path from the root of the repository. It gets the port as its argument. */
export async function startToolServer(script: string): Promise<ToolServer> {
  const port = await freePort()
  const server = await startServer({
    // -B: no __pycache__ folders among the sources.
    command: [TOOL_SERVERS_PYTHON, '-B', join(root, script), String(port)],
    readyLine: 'Uvicorn running on',
  })
  return { ...server, url: `http://127.0.0.1:${port}` }
}
