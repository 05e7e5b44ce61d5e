/** OpenCALL over messages, in memory and on a pair of streams: calls, later states, built-in operations and errors. */
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { createToken, Fault, operation } from 'callplane'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../src/core/ports/store.ts'
import type { ResponseEnvelope } from '../../src/protocols/opencall/wire.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createMemoryLog } from '../../src/testing/fakes/memory-log.ts'
import { createMessagePair } from '../../src/testing/fakes/message-pair.ts'
import { createGate, createStepClock, type Site, startSite, temporaryFolder } from './server.ts'

interface Peer {
  send(text: string | Uint8Array): void
  next(): Promise<ResponseEnvelope>
  leave(): Promise<void>
}

type Connect = (site: Site, token?: string) => Peer

const inMemory: Connect = ({ server, url }, token) => {
  const peer = { header: (name: string) => (name === 'authorization' && token ? `Bearer ${token}` : undefined) }
  const pair = createMessagePair(server.sessions.opencall, { peer, origin: url, log: createMemoryLog([]) })
  onTestFinished(() => pair.close())
  return {
    send: (text) => void pair.send(text),
    next: async () => JSON.parse(String(await pair.read())),
    leave: () => pair.leave(),
  }
}

const onStreams: Connect = ({ server }, token) => {
  const input = new PassThrough()
  const output = new PassThrough({ encoding: 'utf8' })
  const leaving = new AbortController()
  const streams = { input, output, signal: leaving.signal, ...(token !== undefined && { token }) }
  const served = server.serveOpenCall(streams)
  const leave = () => {
    leaving.abort()
    return served
  }
  onTestFinished(leave)
  const chunks = output[Symbol.asyncIterator]()
  let rest = ''
  return {
    send(text) {
      input.write(text)
      input.write('\n')
    },
    async next() {
      while (!rest.includes('\n')) rest += (await chunks.next()).value
      const end = rest.indexOf('\n')
      const line = rest.slice(0, end)
      rest = rest.slice(end + 1)
      return JSON.parse(line)
    },
    leave,
  }
}

const envelope = (op: string, args: object = {}, ctx?: object, auth?: object) =>
  JSON.stringify({ op, args, ...(ctx && { ctx }), ...(auth && { auth }) })

describe.each([
  ['in memory', inMemory],
  ['on streams', onStreams],
])('%s', (_name, connect) => {
  test('a sync call is answered, and several are answered in the order they end', async () => {
    const gate = createGate()
    const slow = operation('v1:it.dawdles', { run: () => gate.pass() })
    const quick = operation('v1:it.hurries', { run: () => 'quick' })
    const { send, next } = connect(await startSite({ operations: [slow, quick] }))
    send(envelope('v1:it.dawdles', {}, { requestId: 'slow', sessionId: 's' }))
    await gate.began
    send(envelope('v1:it.hurries', {}, { requestId: 'quick' }))
    const first = await next()
    gate.open('slow')
    const second = await next()

    expect(first).toEqual({ requestId: 'quick', state: 'complete', result: 'quick' })
    expect(second).toEqual({ requestId: 'slow', sessionId: 's', state: 'complete', result: 'slow' })
  })

  test('every later state of an async call is pushed, to its end', async () => {
    const gate = createGate()
    const make = operation('v1:reports.make', {
      model: 'async',
      async run(_, ctx) {
        ctx.progress(0.5, 'half way')
        return gate.pass()
      },
    })
    const site = await startSite({ operations: [make] })
    const { send, next } = connect(site)
    send(envelope('v1:reports.make', {}, { requestId: 'r1' }))
    const first = await next()
    const seen: ResponseEnvelope[] = []
    while (!seen.at(-1)?.progress) seen.push(await next())
    gate.open({ rows: 3 })
    while (seen.at(-1)?.state !== 'complete') seen.push(await next())

    expect(first).toMatchObject({ requestId: 'r1', state: 'accepted', location: { uri: `${site.url}/ops/r1` } })
    expect(new Set(seen.map((one) => JSON.stringify(one))).size).toBe(seen.length)
    expect(seen.at(-1)).toMatchObject({ requestId: 'r1', state: 'complete', result: { rows: 3 } })
  })

  test('while the storage is away, a recorded call is not said to have failed: its end follows when it is back', async () => {
    const gate = createGate()
    const make = operation('v1:reports.make', { model: 'async', run: () => gate.pass() })
    const [clock, data] = [createStepClock(), temporaryFolder()]
    const sqlite = createSqliteStore({ file: join(data, 'callplane.db'), clock })
    const refused = Promise.withResolvers<void>()
    let isAway = true
    const store: Store = {
      ...sqlite,
      find(...key) {
        if (!isAway) return sqlite.find(...key)
        refused.resolve()
        throw new Fault('unavailable', 'The storage is away.', { code: 'STORAGE_FAILED', ofStorage: true })
      },
    }
    const { send, next } = connect(await startSite({ operations: [make], clock, data, store }))
    send(envelope('v1:reports.make', {}, { requestId: 'r1' }))
    const states = [(await next()).state]
    await refused.promise
    isAway = false
    gate.open({ rows: 3 })
    while (!/complete|error/.test(states.at(-1) ?? '')) states.push((await clock.passing(next())).state)

    expect(states.filter((state) => state !== 'pending')).toEqual(['accepted', 'complete'])
  })

  test('a call is polled by its id, watched from another connection, and canceled', async () => {
    const gate = createGate()
    const wait = operation('v1:it.waits', { model: 'async', run: () => gate.pass() })
    const site = await startSite({ operations: [wait] })
    await site.call('v1:it.waits', {}, { requestId: 'r1' })
    await gate.began
    const { send, next } = connect(site)
    send(envelope('v1:getOperation', { requestId: 'r1', watch: true }, { requestId: 'q1' }))
    const polled = await next()
    send(envelope('v1:cancelOperation', { requestId: 'r1' }, { requestId: 'q2' }))
    const later = [await next(), await next()]

    expect(polled).toMatchObject({ requestId: 'q1', state: 'complete', result: { requestId: 'r1', state: 'pending' } })
    const canceled = { requestId: 'r1', state: 'error', error: { code: 'CANCELED' } }
    expect(later).toContainEqual(expect.objectContaining({ requestId: 'r1', state: 'error' }))
    expect(later.find(({ requestId }) => requestId === 'q2')?.result).toMatchObject(canceled)
  })

  test('the chunks of a result are read by messages', async () => {
    const list = operation('v1:rows.list', {
      model: 'async',
      chunked: { mimeType: 'text/csv' },
      async *run() {
        yield 'a,b\n'
        yield 'c,d\n'
      },
    })
    const site = await startSite({ operations: [list] })
    await site.call('v1:rows.list', {}, { requestId: 'r1' })
    await site.ended('r1')
    const { send, next } = connect(site)
    let text = ''
    for (let cursor: string | null | undefined; cursor !== null; ) {
      send(envelope('v1:getChunk', { requestId: 'r1', ...(cursor && { cursor }) }))
      const chunk = (await next()).result as { data: string; cursor: string | null; encoding: string }
      text += chunk.data
      cursor = chunk.cursor
    }

    expect(text).toBe('a,b\nc,d\n')
  })

  test('a stranger does not find the call of another caller', async () => {
    const [ann, bob] = [createToken(), createToken()]
    const wait = operation('v1:it.waits', { model: 'async', run: () => 'done' })
    const site = await startSite({
      operations: [wait],
      auth: {
        tokens: [
          { hash: ann.hash, kind: 'bearer', subject: 'ann', scopes: [] },
          { hash: bob.hash, kind: 'bearer', subject: 'bob', scopes: [] },
        ],
      },
    })
    await site.call('v1:it.waits', {}, { requestId: 'r1' }, { headers: { authorization: `Bearer ${ann.token}` } })
    const known = connect(site, ann.token)
    const stranger = connect(site, bob.token)
    const nobody = connect(site)
    const answers: ResponseEnvelope[] = []
    for (const { send, next } of [known, stranger, nobody]) {
      send(envelope('v1:getOperation', { requestId: 'r1' }, { requestId: 'q' }))
      answers.push(await next())
      send(envelope('v1:cancelOperation', { requestId: 'r1' }, { requestId: 'q' }))
      answers.push(await next())
    }

    expect(answers.map(({ state, error }) => error?.code ?? state)).toEqual([
      'complete',
      'complete',
      'NOT_FOUND',
      'NOT_FOUND',
      'AUTH_REQUIRED',
      'AUTH_REQUIRED',
    ])
  })

  test('the first envelope may bring the credential, which holds for those after it', async () => {
    const [ann, bob] = [createToken(), createToken()]
    const who = operation('v1:it.asks', { run: (_, ctx) => ctx.caller.subject })
    const site = await startSite({
      operations: [who],
      auth: {
        tokens: [
          { hash: ann.hash, kind: 'bearer', subject: 'ann', scopes: [] },
          { hash: bob.hash, kind: 'apiKey', subject: 'bob', scopes: [] },
        ],
      },
    })
    const { send, next } = connect(site)
    const auth = { iss: 'a', sub: 'b', credentialType: 'bearer', credential: ann.token }
    const replies: unknown[] = []
    send(envelope('v1:it.asks', {}, { requestId: '1' }))
    replies.push((await next()).error?.code)
    send(envelope('v1:it.asks', {}, { requestId: '2' }, auth))
    send(envelope('v1:it.asks', {}, { requestId: '3' }))
    const both = [await next(), await next()].sort((a, b) => (a.requestId < b.requestId ? -1 : 1))
    replies.push(...both.map(({ result }) => result))
    send(envelope('v1:it.asks', {}, { requestId: '4' }, { ...auth, credential: 'wrong' }))
    replies.push((await next()).error?.code)
    send(envelope('v1:it.asks', {}, { requestId: '5' }, { ...auth, credentialType: 'apiKey', credential: bob.token }))
    replies.push((await next()).result)
    send(envelope('v1:it.asks', {}, { requestId: '6' }))
    replies.push((await next()).result)

    expect(replies).toEqual(['AUTH_REQUIRED', 'ann', 'ann', 'AUTH_REQUIRED', 'bob', 'bob'])
  })

  test('a message that is not an envelope gets an error envelope, and the session continues', async () => {
    const quick = operation('v1:it.hurries', { run: () => 'quick' })
    const { send, next } = connect(await startSite({ operations: [quick] }))
    const wrong = ['{', '[]', '{"op":1,"ctx":{"requestId":"mine"}}', envelope('v1:is.not'), 'null', '{"a":1,"a":2}']
    const codes: unknown[] = []
    const ids: unknown[] = []
    for (const text of [...wrong, Uint8Array.of(0x7b, 0xff, 0x7d)]) {
      send(text)
      const { state, error, requestId } = await next()
      codes.push(state === 'error' && error?.code)
      ids.push(requestId)
    }
    send(envelope('v1:it.hurries', {}, { requestId: 'after' }))

    expect(codes).toEqual([
      'INVALID_JSON',
      'INVALID_REQUEST',
      'INVALID_REQUEST',
      'UNKNOWN_OP',
      'INVALID_REQUEST',
      'DUPLICATE_KEY',
      'INVALID_UTF8',
    ])
    expect(ids[2]).toBe('mine')
    expect(await next()).toMatchObject({ requestId: 'after', result: 'quick' })
  })

  test('when a peer leaves, its unrecorded call stops and a recorded one continues', async () => {
    const stopped = Promise.withResolvers<void>()
    const began = Promise.withResolvers<void>()
    const gate = createGate()
    const endless = operation('v1:it.lasts', {
      run: (_, ctx) =>
        new Promise((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => {
            stopped.resolve()
            reject(ctx.signal.reason)
          })
          began.resolve()
        }),
    })
    const make = operation('v1:reports.make', { model: 'async', run: () => gate.pass() })
    const site = await startSite({ operations: [endless, make] })
    const { send, next, leave } = connect(site)
    send(envelope('v1:reports.make', {}, { requestId: 'r1' }))
    await next()
    send(envelope('v1:it.lasts'))
    await Promise.all([began.promise, gate.began])
    await leave()
    await stopped.promise
    gate.open('made')

    expect((await site.ended('r1')).body).toMatchObject({ state: 'complete', result: 'made' })
  })
})
