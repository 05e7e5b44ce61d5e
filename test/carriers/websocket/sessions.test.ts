/** OpenCALL over one WebSocket, with the client of Node's `ws` package: calls, later states, credentials and streams. */
import { operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { createMemoryLog, type LogLine } from '../../../src/testing/fakes/memory-log.ts'
import { verifies } from '../../requirements.ts'
import { createGate, startSite } from '../../scenarios/server.ts'
import { openSocket, refusedSocket } from './client.ts'
import { counting, createFeed } from './operations.ts'
import { withTokens } from './tokens.ts'

const whoAmI = operation('v1:it.knows', { run: (_args, { caller }) => caller.subject })

test('calls run concurrently on one connection, and each response names its request', async () => {
  verifies('opencall:302', 'opencall:303')
  const gate = createGate()
  const slow = operation('v1:it.dawdles', { run: () => gate.pass() })
  const quick = operation('v1:it.hurries', { run: () => 'quick' })
  const { url } = await startSite({ operations: [slow, quick] })
  const { call, envelope, send } = await openSocket(`${url}/call`)
  call('v1:it.dawdles', {}, { requestId: 'slow', sessionId: 's' })
  await gate.began
  call('v1:it.hurries', {}, { requestId: 'quick' })
  // A binary message is an envelope, too.
  send(Buffer.from(JSON.stringify({ op: 'v1:it.hurries', args: {}, ctx: { requestId: 'binary' } })))
  const first = [await envelope(), await envelope()]
  gate.open('slow')

  expect(first).toEqual([
    { requestId: 'quick', state: 'complete', result: 'quick' },
    { requestId: 'binary', state: 'complete', result: 'quick' },
  ])
  expect(await envelope()).toEqual({ requestId: 'slow', sessionId: 's', state: 'complete', result: 'slow' })
})

test('the later states of an async call are pushed', async () => {
  verifies('opencall:303')
  const gate = createGate()
  const build = operation('v1:jobs.build', { model: 'async', run: () => gate.pass() })
  const site = await startSite({ operations: [build] })
  const { call, envelope } = await openSocket(`${site.url}/call`)
  call('v1:jobs.build', {}, { requestId: 'build-1' })
  const states = [await envelope()]
  gate.open('built')
  while (states.at(-1)?.state !== 'complete') states.push(await envelope())

  expect(states[0]).toMatchObject({ requestId: 'build-1', location: { uri: `${site.url}/ops/build-1` } })
  expect(states.at(-1)).toMatchObject({ requestId: 'build-1', state: 'complete', result: 'built' })
})

describe('the caller', () => {
  test('gets the later states of its call, also if the caller before it used the same request id', async () => {
    const { ann, bob, auth } = withTokens()
    const gate = createGate()
    const build = operation('v1:jobs.build', {
      model: 'async',
      run: async (_args, { caller }) => [caller.subject, await gate.pass()],
    })
    const { url } = await startSite({ operations: [build], auth })
    const { call, envelope } = await openSocket(`${url}/call`)
    for (const [sub, credential] of Object.entries({ ann, bob })) {
      const as = { iss: 'callplane', sub, credentialType: 'bearer', credential }
      call('v1:jobs.build', {}, { requestId: 'r1' }, { auth: as })
    }
    gate.open('built')
    const results: unknown[] = []
    while (results.length < 2) {
      const { state, result } = await envelope()
      if (state === 'complete') results.push(result)
    }

    expect(results.sort()).toEqual([
      ['ann', 'built'],
      ['bob', 'built'],
    ])
  })

  test('is known by a header, by the query, or by the first message', async () => {
    verifies('opencall:233', 'opencall:304')
    const { ann, auth } = withTokens()
    const { url } = await startSite({ operations: [whoAmI], auth })
    const byHeader = await openSocket(`${url}/call`, { headers: { authorization: `Bearer ${ann}` } })
    const byQuery = await openSocket(`${url}/call?access_token=${ann}`)
    const byMessage = await openSocket(`${url}/call`)
    byHeader.call('v1:it.knows')
    byQuery.call('v1:it.knows')
    byMessage.call('v1:it.knows', {}, undefined, {
      auth: { iss: 'i', sub: 'ann', credentialType: 'bearer', credential: ann },
    })
    // The envelope's own `auth` is not needed again.
    byMessage.call('v1:it.knows')

    expect((await byHeader.envelope()).result).toBe('ann')
    expect((await byQuery.envelope()).result).toBe('ann')
    expect([(await byMessage.envelope()).result, (await byMessage.envelope()).result]).toEqual(['ann', 'ann'])
  })

  test('refreshes its token with the auth of an envelope', async () => {
    verifies('opencall:305')
    const { ann, bob, auth } = withTokens()
    const { url } = await startSite({ operations: [whoAmI], auth })
    const { call, envelope } = await openSocket(`${url}/call`, { headers: { authorization: `Bearer ${ann}` } })
    call('v1:it.knows')
    call('v1:it.knows', {}, undefined, {
      auth: { iss: 'i', sub: 'bob', credentialType: 'bearer', credential: bob },
    })
    call('v1:it.knows')

    const results = [await envelope(), await envelope(), await envelope()].map(({ result }) => result)
    expect(results).toEqual(['ann', 'bob', 'bob'])
  })

  test('without a credential is refused in the response, and may then send one', async () => {
    verifies('opencall:233')
    const { ann, auth } = withTokens()
    const { url } = await startSite({ operations: [whoAmI], auth })
    const { call, envelope } = await openSocket(`${url}/call`)
    call('v1:it.knows')
    const refused = await envelope()
    call('v1:it.knows', {}, undefined, {
      auth: { iss: 'i', sub: 'ann', credentialType: 'bearer', credential: ann },
    })

    expect(refused).toMatchObject({ state: 'error', error: { code: 'AUTH_REQUIRED' } })
    expect((await envelope()).result).toBe('ann')
  })

  test.each([
    ['header', '/call', { authorization: 'Bearer wrong' }],
    ['query', '/call?access_token=wrong', {}],
  ])('with a wrong token in the %s gets no connection, but an error envelope', async (_where, path, headers) => {
    const { auth } = withTokens()
    const { url } = await startSite({ operations: [whoAmI], auth })

    const { status, body } = await refusedSocket(url + path, { headers })
    expect([status, body]).toMatchObject([401, { state: 'error', error: { code: 'AUTH_REQUIRED' } }])
  })

  test('is in the request log, as a refused one is, without its token', async () => {
    const { ann, auth } = withTokens()
    const lines: LogLine[] = []
    const { url } = await startSite({
      operations: [whoAmI],
      auth,
      requestLog: true,
      log: createMemoryLog(lines),
    })
    const { call, envelope, socket, closed } = await openSocket(`${url}/call?access_token=${ann}`)
    call('v1:it.knows')
    await envelope()
    await refusedSocket(`${url}/call?access_token=${ann}x`)
    // Without an upgrade the same address is an ordinary request, which is logged.
    await fetch(`${url}/call?access_token=${ann}`)
    socket.close()
    await closed

    const logged = () => lines.filter(({ message }) => message === 'request').map(({ fields }) => fields)
    await expect.poll(() => logged().length).toBe(3)
    expect(logged().map(({ method, path, status }) => [method, path, status])).toEqual(
      expect.arrayContaining([
        ['GET', '/call', 101],
        ['GET', '/call', 401],
        ['GET', '/call', 405],
      ]),
    )
    expect(JSON.stringify(lines)).not.toContain(ann)
  })
})

describe('streams on the connection', () => {
  test('the envelope comes first, then the frames of its channel, then the end', async () => {
    verifies('opencall:306', 'opencall:073', 'opencall:101', 'opencall:196')
    const { url } = await startSite({ operations: [counting] })
    const { call, envelope, frame } = await openSocket(`${url}/call`)
    call('v1:clock.tick', { count: 3 }, { requestId: 'r', sessionId: 's' })
    const first = await envelope()
    const frames = [await frame(), await frame(), await frame()]
    const last = await envelope()

    expect(first).toMatchObject({ state: 'streaming', stream: { transport: 'wss', channel: 1, sessionId: 's' } })
    expect(first.stream?.auth).toBeUndefined()
    expect(frames.map(({ channel, payload }) => [channel, payload.toString()])).toEqual([
      [1, '{"n":1}'],
      [1, '{"n":2}'],
      [1, '{"n":3}'],
    ])
    expect(last).toMatchObject({ requestId: 'r', state: 'complete', result: { frames: 3, ended: 'done' } })
  })

  test('several streams and commands share the session, each stream with a channel of its own', async () => {
    verifies('opencall:199', 'opencall:210')
    const { url } = await startSite({ operations: [counting, whoAmI] })
    const { call, next } = await openSocket(`${url}/call`)
    for (const requestId of ['a', 'b']) {
      call('v1:clock.tick', { count: 1, stays: true }, { requestId, sessionId: 's' })
    }
    call('v1:it.knows', {}, { requestId: 'command', sessionId: 's' })
    const envelopes: Record<string, unknown>[] = []
    const frames: number[] = []
    while (envelopes.length < 3 || frames.length < 2) {
      const { text, bytes } = await next()
      if (text !== undefined) envelopes.push(JSON.parse(text))
      else if (bytes) frames.push(bytes.readUInt32BE())
    }
    call('v1:unsubscribeFromStream', { sessionId: 's' }, { requestId: 'stop' })
    const ends: Record<string, unknown>[] = []
    while (ends.length < 3) {
      const { text } = await next()
      if (text !== undefined) ends.push(JSON.parse(text))
    }

    expect(frames.sort()).toEqual([1, 2])
    expect(envelopes.every(({ sessionId }) => sessionId === 's')).toBe(true)
    expect(ends.map(({ requestId, state }) => `${requestId} ${state}`).sort()).toEqual([
      'a complete',
      'b complete',
      'stop complete',
    ])
  })

  test('a failed handler is told as the last envelope, and the connection stays', async () => {
    const feed = createFeed()
    const { url } = await startSite({ operations: [feed.plain, whoAmI] })
    const { call, envelope, frame } = await openSocket(`${url}/call`)
    call('v1:feed.follow', {}, { requestId: 'r' })
    await envelope()
    feed.send(1)
    await frame()
    feed.fail(new Error('The sensor is broken.'))
    const last = await envelope()
    call('v1:it.knows', {}, { requestId: 'after' })

    expect(last).toMatchObject({ requestId: 'r', state: 'error' })
    expect(await envelope()).toMatchObject({ requestId: 'after', state: 'complete' })
  })

  test('a reader that lost its connection reads on at the location, with its own credential', async () => {
    verifies('opencall:201')
    const { ann, bob, auth } = withTokens()
    const feed = createFeed()
    const { url } = await startSite({ operations: [feed.sealed], auth })
    const headers = { authorization: `Bearer ${ann}` }
    const { call, envelope, frame, socket, closed } = await openSocket(`${url}/call`, { headers })
    call('v1:feed.sealed', {}, { requestId: 'r' })
    const { stream } = await envelope()
    for (const n of [1, 2, 3]) feed.send(n)
    for (let n = 0; n < 3; n++) await frame()
    socket.terminate()
    await closed
    const location = `${stream?.location}?after=2`
    const foreign = await refusedSocket(location, { headers: { authorization: `Bearer ${bob}` } })
    const resumed = await openSocket(location, { headers })
    feed.send(4)
    const seqs = [(await resumed.next()).bytes, (await resumed.next()).bytes].map((bytes) => bytes?.readBigUInt64BE())

    expect([foreign.status, foreign.body.error?.code]).toEqual([404, 'NOT_FOUND'])
    expect(seqs).toEqual([3n, 4n])
  })
})
