/** A tool's long message is cut after secrets are removed from it, so that no partial secret remains. */
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { operation } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openTool } from '../backends/tool-server.ts'
import { startSite } from './server.ts'

const SECRET = 'sk-live-0123456789abcdefghijklmnopqrstuvwxyz'
/** So long that a cut at a round number would fall into the secret at one of these places. */
const PADDINGS = [1_000, 2_000, 4_000, 10_000].map((cut) => cut - SECRET.length / 2)
const auth = { profile: 'bearer' as const, secretRef: 'key' }

test.each(PADDINGS)('http: with %i characters before the secret, no part of it is in the reply', async (padding) => {
  vi.stubEnv('CALLPLANE_SECRET_KEY', SECRET)
  onTestFinished(() => void vi.unstubAllEnvs())
  const tool = await openTool(({ headers }, response) => {
    const message = `${'x'.repeat(padding)}${headers.authorization?.slice(7)} ${'y'.repeat(100_000)}`
    const error = { code: 'execution_failed', message }
    response.end(JSON.stringify({ tool_contract_version: 'v1', status: 'error', error }))
  })
  const backend = { kind: 'http', endpoint: tool.url, allowPrivate: true }
  const site = await startSite({ operations: [operation('v1:echo', { backend, auth })] })

  const said = JSON.stringify((await site.call('v1:echo')).body)

  expect(said).toContain('xxx')
  expect(said).not.toContain('sk-live')
  expect(said.length).toBeLessThan(20_000)
})

test.each(PADDINGS)('gRPC: with %i characters before the secret, no part of it is in the reply', async (padding) => {
  vi.stubEnv('CALLPLANE_SECRET_KEY', SECRET)
  onTestFinished(() => void vi.unstubAllEnvs())
  const tool = createServer().on('stream', (stream, { authorization = '' }) => {
    stream.resume()
    const message = `${'x'.repeat(padding)}${authorization.slice(7)} ${'y'.repeat(10_000)}`
    const status = { 'grpc-status': '9', 'grpc-message': message }
    stream.respond({ ':status': 200, 'content-type': 'application/grpc+json', ...status }, { endStream: true })
  })
  await new Promise<void>((resolve) => tool.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void tool.close())
  const endpoint = `http://127.0.0.1:${(tool.address() as AddressInfo).port}`
  const backend = { kind: 'grpc', endpoint, plaintext: true, allowPrivate: true }
  const site = await startSite({ operations: [operation('v1:echo', { backend, auth })] })

  const said = JSON.stringify((await site.call('v1:echo')).body)

  expect(said).toContain('xxx')
  expect(said).not.toContain('sk-live')
})
