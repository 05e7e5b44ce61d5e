/** Ten thousand operations on one server. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, operation } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'

test('the list is built once and answered from memory, and any operation can be called', {
  timeout: 30_000,
}, async () => {
  const operations = Array.from({ length: 10_000 }, (_, index) =>
    operation(`v1:many.op${index}`, { args: { type: 'object' }, run: () => index }),
  )
  const data = mkdtempSync(join(tmpdir(), 'callplane-library-'))
  const server = await createServer({ operations, data })
  onTestFinished(async () => {
    await server.close(0)
    rmSync(data, { recursive: true })
  })
  const { url } = await server.listen({ port: 0 })

  const lookedAt = vi.spyOn(server.registry, 'list')

  const first = await fetch(`${url}/.well-known/ops`)
  const listed = (await first.json()) as { operations: { op: string }[] }
  const etag = first.headers.get('etag') ?? ''
  const again = await fetch(`${url}/.well-known/ops`, { headers: { 'Accept-Encoding': 'identity' } })
  const unchanged = await fetch(`${url}/.well-known/ops`, { headers: { 'If-None-Match': etag } })
  const body = JSON.stringify({ op: 'v1:many.op9998', args: {} })
  const call = await fetch(`${url}/call`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })

  expect(listed.operations).toHaveLength(10_000)
  expect(first.headers.get('content-encoding')).toBe('gzip')
  expect(await again.json()).toEqual(listed)
  expect(unchanged.status).toBe(304)
  expect(lookedAt).toHaveBeenCalledTimes(1)
  expect(await call.json()).toMatchObject({ state: 'complete', result: 9_998 })
})
