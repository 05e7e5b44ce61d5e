/** The declarations in operations/: the server accepts all of them, and offers them under the policy. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createClient } from 'callplane/client'
import { expect, onTestFinished, test } from 'vitest'

const COMMAND = 'node_modules/callplane/dist/cli/start.js'

/** Starts the server as `npm start` does, on a free port and with data of its own. */
async function startServer() {
  const data = await mkdtemp(join(tmpdir(), 'callplane-test-'))
  const options = ['--policy', 'policy.yaml', '--port', '0', '--data', data]
  const server = spawn(process.execPath, [COMMAND, 'serve', 'operations', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(server, 'exit')
  onTestFinished(async () => {
    server.kill()
    await ended
    await rm(data, { recursive: true })
  })
  for await (const line of createInterface({ input: server.stdout })) {
    const { msg, url } = JSON.parse(line)
    if (msg === 'listening') return createClient({ url })
  }
  throw new Error('The server did not start. Its message is above.')
}

async function declaredNames() {
  const files = (await readdir('operations')).filter((file) => file.endsWith('.yaml'))
  const texts = await Promise.all(files.map((file) => readFile(join('operations', file), 'utf8')))
  return texts.flatMap((text) => [...text.matchAll(/^operation: (\S+)$/gm)].map(([, name]) => name))
}

test('the server offers every declared tool', async () => {
  const api = await startServer()

  const { operations } = await api.registry()

  expect(operations.map(({ op }) => op)).toEqual(expect.arrayContaining(await declaredNames()))
  api.close()
}, 60_000)
