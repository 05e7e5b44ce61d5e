/** Results that callers fetch from the object store itself, if the operation wants it and the store has addresses. */
import { createToken, operation } from 'callplane'
import { expect, test } from 'vitest'
import type { ObjectStore } from '../../src/core/ports/objects.ts'
import { createMemoryObjects } from '../../src/testing/fakes/memory-objects.ts'
import { verifies } from '../requirements.ts'
import { startSite } from './server.ts'

const [ada, bob] = [createToken(), createToken()]
const token = (hash: string, subject: string) => ({ hash, kind: 'bearer' as const, subject, scopes: [] })
const auth = { tokens: [token(ada.hash, 'ada'), token(bob.hash, 'bob')] }
const as = ({ token }: { token: string }) => ({ headers: { Authorization: `Bearer ${token}` } })

const draw = operation('v1:art.draw', {
  ttlSeconds: 600,
  args: { type: 'object', properties: { direct: { type: 'boolean' } } },
  run: ({ direct }, ctx) => ctx.object('0123456789', { mimeType: 'text/plain', direct: direct === true }),
})

/** A store whose addresses lead to another host, and that notes each one. */
function linkingStore(): { objects: ObjectStore; linked: { id: string; forMs: number }[] } {
  const linked: { id: string; forMs: number }[] = []
  const link = async (id: string, forMs: number) => {
    linked.push({ id, forMs })
    return `https://files.example/${id}?signature=x`
  }
  return { objects: { ...createMemoryObjects(), link }, linked }
}

async function startDrawn(objects: ObjectStore, direct: boolean) {
  const site = await startSite({ operations: [draw], auth, objects })
  const { body } = await site.call('v1:art.draw', { direct }, { requestId: 'draw-1' }, as(ada))
  return { site, path: (body.location?.uri ?? '').slice(site.url.length) }
}

test('the owner is redirected to the store, with an address that lives for minutes and no cache keeps', async () => {
  verifies('opencall:119', 'opencall:242')
  const { objects, linked } = linkingStore()
  const { site, path } = await startDrawn(objects, true)

  const answer = await site.request(path, as(ada))
  const head = await site.request(path, { ...as(ada), method: 'HEAD' })
  const body = (await answer.json()) as { location?: { uri: string } }

  expect(answer.status).toBe(303)
  expect(answer.headers.get('location')).toMatch(/^https:\/\/files\.example\/[\w-]+\/result-1-0\?signature=x$/)
  expect(body.location?.uri).toBe(answer.headers.get('location'))
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect([head.status, head.headers.get('content-length')]).toEqual([200, '10'])
  expect(linked.every(({ forMs }) => forMs > 0 && forMs <= 300_000)).toBe(true)
})

test('no address is made for a stranger', async () => {
  verifies('opencall:110')
  const { objects, linked } = linkingStore()
  const { site, path } = await startDrawn(objects, true)

  const theirs = await site.request(path, as(bob))
  const nobodys = await site.request(path)
  const guessed = await site.request(path.replace('result-1-0', 'part-0'), as(ada))

  expect([theirs.status, nobodys.status, guessed.status]).toEqual([404, 401, 404])
  for (const answer of [theirs, nobodys, guessed]) expect(answer.headers.get('location')).toBeNull()
  expect(linked).toEqual([])
})

test('without the wish, and in a store without addresses, the bytes pass through this server', async () => {
  const { objects, linked } = linkingStore()
  const unwished = await startDrawn(objects, false)
  const without = await startDrawn(createMemoryObjects(), true)

  for (const { site, path } of [unwished, without]) {
    const answer = await site.request(path, as(ada))
    expect([answer.status, await answer.text()]).toEqual([200, '0123456789'])
  }
  expect(linked).toEqual([])
})
