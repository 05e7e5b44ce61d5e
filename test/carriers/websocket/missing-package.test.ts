/** A server in a process without the package `ws`. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../scenarios/server.ts'

const root = join(import.meta.dirname, '../../..')

/** Starts a server with the options in a process that cannot import `ws`, and returns its log or its error. */
async function run(options: string): Promise<string> {
  const program = join(temporaryFolder(), 'program.mjs')
  writeFileSync(
    program,
    `
import { registerHooks } from 'node:module'
registerHooks({
  resolve(specifier, context, next) {
    return next(specifier === 'ws' ? 'ws-that-is-not-installed' : specifier, context)
  },
})
const { createServer } = await import(${JSON.stringify(join(root, 'src/index.ts'))})
try {
  const server = await createServer({ operations: [], data: ${JSON.stringify(temporaryFolder())}, log: 'info', ${options} })
  await server.close()
} catch ({ code, message }) {
  console.log(code, message)
}
`,
  )
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=callplane-source', program])
  return stdout
}

test('it says once that WebSocket is off and how to get it, and starts', async () => {
  const log = await run('')

  expect(log.match(/WebSocket is off/g)).toHaveLength(1)
  expect(log).toContain('"install":"npm install ws"')
})

test('it does not start if the options ask for WebSocket', async () => {
  expect(await run('websocket: true')).toBe(
    'PACKAGE_MISSING WebSocket needs the package ws. Install it: npm install ws\n',
  )
})

test('it says nothing if WebSocket is switched off', async () => {
  expect(await run('websocket: false')).not.toContain('WebSocket')
})
