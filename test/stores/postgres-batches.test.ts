/** When requests to Postgres are sent, and which of them together. */
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Connection } from '../../src/stores/postgres/connect/session.ts'
import { Batches, type Shape } from '../../src/stores/postgres/writes/batches.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Four connections whose statements end when the test says so. */
function createSent() {
  const sent: { key: string; values: string[]; end(): void }[] = []
  const connection = { open: async () => {}, destroy: () => {} } as unknown as Connection
  const batches = new Batches({
    connections: [connection, connection, connection, connection],
    down: () => undefined,
    unreachable: () => {},
    missingTable: async () => {},
    log: undefined,
    doubtMs: 1_000,
  })
  const shapeOf = (key: string, most = 256): Shape<string, void> => ({
    key,
    most,
    run: (_session, items) =>
      new Promise((resolve) =>
        sent.push({
          key,
          values: items.map(({ value }) => value),
          end() {
            for (const item of items) item.done()
            resolve()
          },
        }),
      ),
  })
  const add = async (shape: Shape<string, void>, ...values: string[]) => {
    for (const value of values) void batches.add(shape, value)
    // A batch is put together in one turn, and its connection opens in the next.
    await turn()
    await turn()
  }
  return { sent, shapeOf, add, keys: () => sent.map(({ key, values }) => `${key} ${values.length}`) }
}

test('while two connections are busy, few requests wait for a batch of their shape, and many do not', async () => {
  const { sent, shapeOf, add, keys } = createSent()
  const accept = shapeOf('accept')
  await add(accept, '1')
  await add(accept, '2')
  await add(accept, '3')
  expect(keys()).toEqual(['accept 1', 'accept 1'])

  await add(accept, ...Array.from({ length: 31 }, (_, n) => `more ${n}`))
  expect(keys()).toEqual(['accept 1', 'accept 1', 'accept 32'])

  await add(accept, '4')
  for (const { end } of sent.slice(0, 2)) end()
  await turn()
  await turn()
  expect(keys()).toEqual(['accept 1', 'accept 1', 'accept 32', 'accept 1'])
})

test('a request does not wait for batches of other shapes, and one that goes alone waits for none', async () => {
  const { sent, shapeOf, add, keys } = createSent()
  await add(shapeOf('accept'), '1')
  await add(shapeOf('accept'), '2')
  await add(shapeOf('progress'), '3')
  await add(shapeOf('alone', 1), '4')
  expect(keys()).toEqual(['accept 1', 'accept 1', 'progress 1', 'alone 1'])

  for (const { end } of sent.splice(0, 2)) end()
  await turn()
  await add(shapeOf('accept'), '5')
  expect(keys()).toEqual(['progress 1', 'alone 1', 'accept 1'])
})

test('requests do not wait for long behind a batch that hangs', async () => {
  const { shapeOf, add, keys } = createSent()
  await add(shapeOf('accept'), '1')
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  await add(shapeOf('accept'), '2')
  await add(shapeOf('accept'), '3')
  expect(keys()).toEqual(['accept 1', 'accept 1'])

  await vi.advanceTimersByTimeAsync(20)
  await turn()
  expect(keys()).toEqual(['accept 1', 'accept 1', 'accept 1'])
})
