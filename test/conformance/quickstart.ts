/** Serves the quickstart from its own folder on a free loopback port. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AuthConfig, createServer, type ServerOptions } from 'callplane'
import * as quickstart from '../../examples/quickstart/operations.ts'

/** A result of several chunks is then made and read quickly. */
const SMALL_CHUNKS = { chunkBytes: 32 * 1024 }

/** Tool execution is enabled unless `rest` disables it. */
export async function serveQuickstart(
  auth?: AuthConfig,
  rest: ServerOptions['rest'] = { allowExecute: true },
): Promise<{ url: string; close: () => Promise<void> }> {
  const data = await mkdtemp(join(tmpdir(), 'callplane-conformance-'))
  const operations = Object.values(quickstart)
  const server = await createServer({ operations, data, rest, sizes: SMALL_CHUNKS, ...(auth && { auth }) })
  const { url } = await server.listen({ port: 0 })
  return {
    url,
    async close() {
      await server.close(1_000)
      await rm(data, { recursive: true })
    },
  }
}
