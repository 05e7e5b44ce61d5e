/** A session beyond calls: gRPC, streams, sockets and objects. Each refuses it once it has ended. */
import { createToken, operation } from 'callplane'
import { expect, test } from 'vitest'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { openSocket, refusedSocket } from '../carriers/websocket/client.ts'
import { request } from '../protocols/contract/host.ts'
import { grpcPeer } from '../protocols/contract/peer.ts'
import { startSite } from '../scenarios/server.ts'
import { createFeed } from '../streams/feed.ts'
import { readEvents, streamIn } from '../streams/sse.ts'
import { bearer, logIn, logOut } from './logins.ts'

const [ada, bob] = [createToken(), createToken()]
const auth = {
  tokens: [
    { hash: ada.hash, kind: 'bearer' as const, subject: 'ada', scopes: [] },
    { hash: bob.hash, kind: 'bearer' as const, subject: 'bob', scopes: [] },
  ],
}
const whose = operation('v1:it.is', { run: (_args, { caller }) => ({ caller: caller.subject }) })

async function open(stream: Parameters<typeof createFeed>[0] = {}) {
  const { feed, definition } = createFeed(stream)
  const draw = operation('v1:it.draws', {
    ttlSeconds: 60,
    run: (_args, ctx) => ctx.object('art', { mimeType: 'text/plain' }),
  })
  const lines: LogLine[] = []
  const operations = [whose, draw, definition]
  const site = await startSite({ operations, auth, grpc: { port: 0 }, log: createMemoryLog(lines) })
  const { port } = lines.map(({ fields }) => fields as { port?: number }).find((fields) => fields.port) ?? {}
  const sessionOf = async (token: string) => (await logIn(site, { token })).body.session
  return { site, feed, grpc: grpcPeer(`http://127.0.0.1:${port}`), sessionOf }
}

test('gRPC takes a session, and refuses it after its end', async () => {
  const { site, grpc, sessionOf } = await open()
  const session = await sessionOf(ada.token)
  const execute = (id: string) => grpc(request(id, 'it_is'), { headers: { authorization: `Bearer ${session}` } })

  const served = await execute('r1')
  await logOut(site, session)
  const refused = await execute('r2').catch((thrown: Error) => thrown.message)

  expect(served).toMatchObject({ status: 'ok', output: { caller: 'ada' } })
  expect(JSON.stringify(refused)).toContain('session has ended')
  expect(JSON.stringify(refused)).not.toContain('ada')
})

test('the events of a stream are read with the session that subscribed, by no other caller, and not after its end', async () => {
  const { site, feed, sessionOf } = await open({ integrity: 'crc32' })
  const [mine, foreign] = [await sessionOf(ada.token), await sessionOf(bob.token)]
  const { url } = streamIn(await site.call('v1:feed.watch', {}, {}, { headers: bearer(mine) }))

  const reader = await readEvents(url, bearer(mine))
  feed.push('a')
  const first = await reader.next()
  const others = await readEvents(url, bearer(foreign))
  const nobody = await readEvents(url)
  reader.leave()
  await logOut(site, mine)
  const ended = await readEvents(`${url}?after=1`, bearer(mine))
  const another = await readEvents(`${url}?after=0`, bearer(await sessionOf(ada.token)))

  expect([reader.status, first?.data]).toEqual([200, 'a'])
  expect([others.status, nobody.status, ended.status]).toEqual([404, 401, 401])
  // A new session of the same person goes on with the stream.
  expect([another.status, (await another.next())?.data]).toEqual([200, 'a'])
})

test('a WebSocket reads a stream with the session, and refuses one that has ended', async () => {
  const { site, feed, sessionOf } = await open()
  const session = await sessionOf(ada.token)
  const { location } = streamIn(await site.call('v1:feed.watch', {}, {}, { headers: bearer(session) }))
  const at = (token: string) => `${location}?access_token=${token}`

  const reader = await openSocket(at(session))
  feed.push('a')
  const first = await reader.next()
  await logOut(site, session)
  const refused = await refusedSocket(at(session))
  feed.push('b')

  // A stream that is being read goes on, as with every other credential.
  expect([first.text, (await reader.next()).text]).toEqual(['"a"', '"b"'])
  expect([refused.status, refused.body.error?.code]).toEqual([401, 'AUTH_REQUIRED'])
})

test('a socket for calls that a session opened makes no more calls after its end', async () => {
  const { site, sessionOf } = await open()
  const session = await sessionOf(ada.token)
  const socket = await openSocket(`${site.url}/call?access_token=${session}`)

  socket.call('v1:it.is')
  const served = await socket.envelope()
  await logOut(site, session)
  socket.call('v1:it.is')
  const refused = await socket.envelope()

  expect(served.result).toEqual({ caller: 'ada' })
  expect(refused).toMatchObject({ state: 'error', error: { code: 'AUTH_REQUIRED' } })
})

test('an object is read with the session of its caller, and with no other', async () => {
  const { site, sessionOf } = await open()
  const [mine, foreign] = [await sessionOf(ada.token), await sessionOf(bob.token)]
  const drawn = await site.call('v1:it.draws', {}, {}, { headers: bearer(mine) })
  // Without its signature, the link needs a credential.
  const uri = (drawn.body.location?.uri ?? '').split('?')[0] ?? ''
  const read = async (headers: Record<string, string>) => {
    const response = await fetch(uri, { headers })
    return [response.status, response.ok ? await response.text() : '']
  }

  const [own, others, nobody] = [await read(bearer(mine)), await read(bearer(foreign)), await read({})]
  await logOut(site, mine)

  expect(own).toEqual([200, 'art'])
  expect(others[0]).toBe(404)
  expect(nobody[0]).toBe(401)
  expect((await read(bearer(mine)))[0]).toBe(401)
})
