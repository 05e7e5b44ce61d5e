/** The server opens the application's own store, which may take a while or fail. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type OpenStore, operation, type Store } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import { Fault } from '../../src/core/fault.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'

const ECHO = operation('v1:echo', { model: 'async', run: () => 'done' })

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-opening-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('a server waits until its store is open, uses it, and closes it', async () => {
  const data = newFolder()
  const connected = Promise.withResolvers<void>()
  const story: string[] = []
  const open: OpenStore = async ({ clock, log }) => {
    story.push('connecting')
    await connected.promise
    story.push('open')
    const store: Store = createSqliteStore({ file: join(data, 'own.db'), clock, log })
    return {
      ...store,
      close: () => {
        story.push('closed')
        return store.close()
      },
    }
  }

  const starting = createServer({ operations: [ECHO], data, store: open }).finally(() => story.push('started'))
  await new Promise(setImmediate)
  connected.resolve()
  const server = await starting
  const response = await server.fetch(
    new Request('http://127.0.0.1:4747/call', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ op: 'v1:echo', args: {}, ctx: { requestId: '0190b5a0-0000-7000-8000-000000000001' } }),
    }),
  )
  await server.close()

  expect(response.status).toBe(202)
  expect(story).toEqual(['connecting', 'open', 'started', 'closed'])
})

test('a store that cannot be opened is why the server does not start', async () => {
  const store: OpenStore = async () => {
    throw new Fault('unavailable', 'The database does not answer.', { code: 'NO_DATABASE' })
  }

  await expect(createServer({ operations: [ECHO], data: newFolder(), store })).rejects.toMatchObject({
    code: 'NO_DATABASE',
  })
})
