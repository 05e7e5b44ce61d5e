/** QUIC from the command line. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { QUICKSTART, runProcess, serveProcess } from '../../cli/processes.ts'
import { describeWith, quicLibrary } from '../../engines/engines.ts'
import { freePort } from '../../engines/free-port.ts'
import { temporaryFolder } from '../../scenarios/server.ts'
import { certificate, connectHttp3 } from './client.ts'

// Processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const tls = () => ['--tls-cert', certificate().certFile, '--tls-key', certificate().keyFile]

describeWith(quicLibrary, 'callplane serve --quic', () => {
  test.each([
    ['one process', []],
    ['two workers', ['--workers', '2']],
  ])('%s serves HTTP/3 at the address', async (_, workers) => {
    const port = await freePort()
    const flags = ['--data', temporaryFolder(), ...tls(), '--quic', `127.0.0.1:${port}`, ...workers]
    const server = await serveProcess([QUICKSTART, ...flags])
    const client = await connectHttp3(port)

    const response = await client.send('/call', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ op: 'v1:Calculator.Add', args: { a: 1, b: 2 } }),
    })
    await client.close()
    server.kill('SIGTERM')

    expect(await response.json()).toMatchObject({ state: 'complete', result: 3 })
    expect(await server.ended).toBe(0)
  })
})

test('flags that cannot work say what is missing', async () => {
  const serve = (...flags: string[]) =>
    runProcess(['serve', QUICKSTART, '--port', '0', '--data', temporaryFolder(), ...flags])

  expect((await serve('--quic', '4433')).stderr).toContain('quic needs a certificate')
  expect((await serve('--quic', 'here')).stderr).toContain('--quic must be a port or an address')
  expect((await serve('--quic-raw-port', '1')).stderr).toContain('--quic-raw-port needs --quic')
})

test('a missing package is named', async () => {
  const hook = join(temporaryFolder(), 'without-package.cjs')
  writeFileSync(
    hook,
    `const Module = require('node:module'); const find = Module._resolveFilename
Module._resolveFilename = (name, ...rest) => find(name.startsWith('@currentspace/') ? 'no-such-package' : name, ...rest)`,
  )
  const flags = ['--port', '0', '--data', temporaryFolder(), ...tls(), '--quic', '0']

  const { code, stderr } = await runProcess(['serve', QUICKSTART, ...flags], {
    env: { NODE_OPTIONS: `--require=${hook}` },
  })

  expect(code).not.toBe(0)
  expect(stderr).toContain('Install it: npm install @currentspace/http3')
})
