/** Tools that run on this machine: the attempts that the server's response reports for them. */
import { join } from 'node:path'
import { importTools, operation, type ServerOptions } from 'callplane'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { containers, describeWith } from '../engines/engines.ts'
import { type Podman, startPodman } from '../engines/podman.ts'
import { verifies } from '../requirements.ts'
import { startSite, temporaryFolder } from '../scenarios/server.ts'
import { compileWat, folderWith, WAT } from './wasm-modules.ts'

// Containers and processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const PROGRAM = join(import.meta.dirname, '../fixtures/mcp/stdio-server.ts')
/** A tool that hangs fails in the same way at each try, which is worth another one. */
const TWO_TRIES = { timeoutMs: 50, retry: { attempts: 2, backoffMs: 1 } }

async function showsTheAttempt(options: ServerOptions): Promise<void> {
  verifies('contract:123')
  const site = await startSite(options)

  const response = await site.request('/tool-contract/v1/execute', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ request_id: 'r1', tool: { name: 'kit_hang' }, input: {} }),
  })

  expect(await response.json()).toMatchObject({ error: { code: 'timeout' }, usage: { attempt: 2 } })
}

/** By kind, the declaration that makes the tool `kit_hang` of a server. */
const KINDS: [kind: string, serve: () => Promise<ServerOptions>][] = [
  [
    'wasm',
    async () => {
      const module = join(folderWith(await compileWat(WAT.loop)), 'tool.wasm')
      return { operations: [operation('v1:kit.hang', { ...TWO_TRIES, backend: { kind: 'wasm', module } })] }
    },
  ],
  [
    'mcp',
    async () => {
      const server = { command: process.execPath, args: [PROGRAM, temporaryFolder()] }
      return { operations: [], imports: [importTools({ kind: 'mcp', as: 'v1:kit.*', ...server }, TWO_TRIES)] }
    },
  ],
]

test.each(KINDS)('%s: the answer says which try it is from', async (_kind, serve) => showsTheAttempt(await serve()))

describeWith(containers, 'containers', () => {
  let podman: Podman
  beforeAll(() => {
    podman = startPodman()
  })
  afterAll(() => podman?.remove())

  test('container: the answer says which try it is from', async () => {
    const backend = { kind: 'container', ...podman.settings, command: ['/bin/busybox', 'sleep', '1000000'] }
    await showsTheAttempt({ operations: [operation('v1:kit.hang', { ...TWO_TRIES, backend })] })
  })
})
