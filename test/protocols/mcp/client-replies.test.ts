/** Client replies to the server's requests: who may send them, where they arrive, and what is stored of them. */
import { expect, test } from 'vitest'
import type { Asked } from '../../../src/protocols/mcp/asking/asked.ts'
import { ClientReplies } from '../../../src/protocols/mcp/asking/client-replies.ts'
import type { InputRequests } from '../../../src/protocols/mcp/wire.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { openCluster } from '../../engine/node.ts'

const QUESTION: InputRequests = { roots: { method: 'roots/list', params: {} } }
const asked = { caller: undefined, client: { signal: new AbortController().signal } } as unknown as Asked

function open() {
  const clock = createManualClock()
  const { store } = openCluster()
  let ids = 0
  const sign = (text: string) => `signed${text.length}`
  const isSigned = (text: string, signature: string) => signature === sign(text)
  const env = { clock, newId: () => `id-${++ids}`, sign, isSigned }
  return { clock, store, replies: () => new ClientReplies(env, store.records) }
}

async function ask(replies: ClientReplies) {
  const stream = replies.ask(QUESTION, asked)
  const { value } = await stream.next()
  return { id: (value as { id: string }).id, answers: stream.next() }
}

test('a reply that comes to another process is found there', async () => {
  const { clock, replies } = open()
  const [here, there] = [replies(), replies()]
  const { id, answers } = await ask(here)
  await there.take(undefined, { id, result: { roots: [] } })
  clock.advance(500)
  expect(await answers).toEqual({ done: true, value: { roots: { roots: [] } } })
})

test('only one reply to each question is kept, and none that is too long', async () => {
  const { store, replies } = open()
  const [here, there] = [replies(), replies()]
  const { id, answers } = await ask(here)
  answers.catch(() => undefined)
  for (const other of [`${id}.0`, `${id}x`, 'id-9', 'id-9.signed', ''])
    await there.take(undefined, { id: other, result: {} })
  await there.take(undefined, { id, result: { first: true } })
  await there.take(undefined, { id, result: { second: true } })
  const long = there.take(undefined, { id, result: { text: 'x'.repeat(300_000) } })
  await expect(long).rejects.toMatchObject({ kind: 'malformed' })
  const kept = await store.records.list('', 10)
  expect(kept.map(({ value }) => JSON.parse(value).result)).toEqual([{ first: true }])
  here.close()
})

test('closing ends every question, and no more are accepted', async () => {
  const { replies } = open()
  const here = replies()
  const { answers } = await ask(here)
  here.close()
  await expect(answers).rejects.toMatchObject({ code: 'SHUTTING_DOWN' })
  await expect(ask(here)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' })
})

test('one caller does not have any number of questions wait', async () => {
  const { replies } = open()
  const here = replies()
  for (let index = 0; index < 100; index++) (await ask(here)).answers.catch(() => undefined)
  await expect(ask(here)).rejects.toMatchObject({ code: 'TOO_MANY_QUESTIONS' })
  here.close()
})
