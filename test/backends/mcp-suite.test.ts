import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { createMcpBackend, McpConnection, parseMcpSettings } from '../../src/backends/mcp/index.ts'
import type { BackendSpec } from '../../src/core/operation/operation.ts'
import type { Clock } from '../../src/core/ports/runtime.ts'
import { createRemoteClient } from '../../src/security/outbound/remote-client.ts'
import { describeBackend } from '../../src/testing/suites/backend/backend.ts'
import { startHttpTools } from '../fixtures/mcp/http-server.ts'
import { showsRuntimeSemantics } from './runtime-semantics.ts'
import { partsWith } from './tool-server.ts'

// Processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 30_000 })

const runner = { describe, test, expect }
const PROGRAM = join(import.meta.dirname, '../fixtures/mcp/stdio-server.ts')
const MAX_BYTES = 1_000_000

async function connect(spec: Omit<BackendSpec, 'kind'>, clock: Clock): Promise<McpConnection> {
  const remote = createRemoteClient()
  const parts = {
    ...partsWith(clock, remote),
    lookup: remote.lookup,
    credential: async () => undefined,
    secret: async () => '',
    redact: <T>(value: T) => value,
    redactBytes: () => ({ push: (bytes: Uint8Array) => bytes, end: () => new Uint8Array() }),
  }
  const connection = new McpConnection(parseMcpSettings({ kind: 'mcp', maxBytes: MAX_BYTES, ...spec }), parts, () => {})
  await connection.start()
  return connection
}

describeBackend(
  runner,
  'mcp over HTTP',
  async (behaviour, clock) => {
    const server = await startHttpTools()
    const connection = await connect({ url: server.url, allowPrivate: true }, clock)
    return {
      backend: createMcpBackend(connection, behaviour, 'tools'),
      begun: server.when('begun'),
      stopped: server.when(behaviour === 'flood' ? 'cut off' : 'stopped'),
      async cleanup() {
        await connection.close()
        await server.stop()
      },
    }
  },
  showsRuntimeSemantics,
)

describeBackend(
  runner,
  'mcp as a process',
  async (behaviour, clock) => {
    const folder = mkdtempSync(join(tmpdir(), 'callplane-mcp-'))
    const connection = await connect({ command: process.execPath, args: [PROGRAM, folder] }, clock)
    const when = async (happened: () => boolean) => {
      await vi.waitUntil(happened, { timeout: 20_000 })
    }
    const begun = when(() => existsSync(join(folder, 'begun')))
    const stopped = when(() =>
      behaviour === 'flood' ? isGone(join(folder, 'flooding')) : existsSync(join(folder, 'stopped')),
    )
    // Only some of the stories wait for them.
    for (const promise of [begun, stopped]) promise.catch(() => undefined)
    return {
      backend: createMcpBackend(connection, behaviour, 'tools'),
      begun,
      stopped,
      async cleanup() {
        await connection.close()
        rmSync(folder, { recursive: true, force: true })
      },
    }
  },
  showsRuntimeSemantics,
)

/** The process that left this file has ended. */
function isGone(file: string): boolean {
  try {
    return existsSync(file) && !process.kill(Number(readFileSync(file, 'utf8')), 0)
  } catch {
    return true
  }
}
