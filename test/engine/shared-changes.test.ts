/** Changes between two processes: if one is lost on the way, an operator who waits is told to look again. */
import { expect, test } from 'vitest'
import { idsOf, loseBatches, openCluster, openSettled } from './change-cluster.ts'

test('changes of another process are told in order, without a reset', async () => {
  const { here, there, advance, after } = await openSettled()

  there.change('one')
  await advance(1_000)
  there.change('two')
  await advance(1_000)
  const heard = await here.ask(after)
  await advance(20_000)

  expect(idsOf(heard)).toEqual(['one', 'two'])
  expect(heard.reset).toBeUndefined()
  expect(await here.ask(heard.next)).toMatchObject({ events: [] })
  expect((await here.ask(heard.next)).reset).toBeUndefined()
})

test('more changes at once than are passed on end in a reset, and later ones are told', async () => {
  const { here, there, advance, after } = await openSettled()

  there.change('many', 1_001)
  await advance(1_000)
  const heard = await here.ask(after)
  there.change('later')
  await advance(1_000)

  expect(heard).toMatchObject({ events: [], reset: true })
  expect(idsOf(await here.ask(heard.next))).toContain('later')
})

test('changes that could not be written end in a reset', async () => {
  const { here, there, advance, after } = await openSettled()

  there.state.canWrite = false
  there.change('lost')
  await advance(1_000)
  there.state.canWrite = true
  await advance(1_000)

  expect(await here.ask(after)).toMatchObject({ reset: true })
})

test('a batch that nobody could read ends in a reset', async () => {
  const { here, there, advance, after } = await openSettled()
  here.state.canReach = false
  there.change('lost')
  await advance(1_000)
  await loseBatches(there.records)

  here.state.canReach = true
  await advance(1_000)

  expect(await here.ask(after)).toMatchObject({ reset: true })
})

test('a reader that could not reach the store for a while hears what came meanwhile', async () => {
  const { here, there, advance, after } = await openSettled()
  here.state.canReach = false
  there.change('meanwhile')
  await advance(8_000)

  here.state.canReach = true
  await advance(1_000)
  const heard = await here.ask(after)

  expect(heard.reset === true || idsOf(heard).includes('meanwhile')).toBe(true)
})

test('a process that dies takes its last changes with it, which ends in a reset', async () => {
  const { here, there, advance, after } = await openSettled()

  there.change('lost')
  there.kill()
  await advance(20_000)

  expect(await here.ask(after)).toMatchObject({ reset: true })
})

test('a process that ends in order tells its last changes, and causes no reset', async () => {
  const { here, there, advance, after } = await openSettled()

  there.change('last')
  await there.shared.stop()
  await advance(1_000)
  const heard = await here.ask(after)
  await advance(20_000)

  expect(idsOf(heard)).toEqual(['last'])
  expect((await here.ask(heard.next)).reset).toBeUndefined()
})

test('a process that hears late that changes are wanted says that earlier ones are lost', async () => {
  const cluster = openCluster()
  const here = await cluster.openProcess('here')
  const there = await cluster.openProcess('there')
  there.state.hears = false
  const { next } = await here.ask()
  there.change('lost')

  await cluster.advance(7_000)

  expect(await here.ask(next)).toMatchObject({ reset: true })
})

test('a process that ends before it heard that changes are wanted causes a reset', async () => {
  const cluster = openCluster()
  const here = await cluster.openProcess('here')
  const there = await cluster.openProcess('there')
  there.state.hears = false
  const { next } = await here.ask()
  there.change('lost')
  there.kill()

  await cluster.advance(11_000)

  expect(await here.ask(next)).toMatchObject({ reset: true })
})

test('a process that starts later tells its first change, or causes a reset', async () => {
  const { here, advance, openProcess, after } = await openSettled()
  const { next } = await here.ask(after)
  const late = await openProcess('late')

  late.change('first')
  await advance(1_000)
  const heard = await here.ask(next)

  expect(heard.reset).toBe(true)
  expect(idsOf(await here.ask(heard.next))).toEqual(['first'])
})

test('a process that starts later and dies at once causes a reset', async () => {
  const { here, advance, openProcess, after } = await openSettled()
  const late = await openProcess('late')
  await advance(1_000)
  const { next } = await here.ask((await here.ask(after)).next)

  late.change('lost')
  late.kill()
  await advance(20_000)

  expect(await here.ask(next)).toMatchObject({ reset: true })
})

test('an operator who comes back after a pause, in which nobody waited, looks again', async () => {
  const { here, there, advance, after } = await openSettled()
  await advance(59_000)
  const { next } = await here.ask(after)
  await advance(61_000)
  there.change('unheard')
  await advance(1_000)

  expect(await here.ask(next)).toMatchObject({ reset: true })
})

test('with the cursor of another process, the rest is told, or the operator looks again', async () => {
  const { here, there, advance } = await openSettled()
  await there.ask()
  await advance(30_000)
  const { next } = await there.ask()
  here.change('many', 300)
  await advance(11_000)
  const first = await there.ask(next)

  const moved = await here.ask(first.next)
  const rest = await here.ask(moved.next)

  expect(idsOf(first)).toHaveLength(200)
  expect([moved.reset, rest.reset]).toEqual([undefined, undefined])
  expect(idsOf(rest)).toContain('many-200')
})

test('with the cursor of a process that could not read for a while, nothing is missed at another', async () => {
  const { here, there, advance } = await openSettled()
  await there.ask()
  await advance(30_000)
  const { next } = await there.ask()
  there.state.canReach = false
  await advance(1_000)
  here.change('unheard there')
  await advance(7_000)
  const stale = await there.ask(next)

  const moved = await here.ask(stale.next)

  expect(stale.events).toEqual([])
  expect(idsOf(moved)).toContain('unheard there')
})

test('a process that could not write its changes in time tells operators who come from another to look again', async () => {
  const { here, there, advance } = await openSettled()
  await there.ask()
  await advance(30_000)
  there.state.canWrite = false
  there.change('stuck')
  await advance(7_000)

  const { next } = await here.ask()

  expect(await there.ask(next)).toMatchObject({ reset: true })
})

test('an operator between two processes that lost changes at the same moment looks again for a few seconds only', async () => {
  const { here, there, advance } = await openSettled()
  await there.ask()
  await advance(30_000)
  let { next } = await here.ask()
  for (const { feed } of [here, there]) feed.lose()
  const resets: boolean[] = []

  for (const process of [there, here, there, here, there, here]) {
    const heard = await process.ask(next)
    resets.push(heard.reset === true)
    next = heard.next
    await advance(2_000)
  }

  expect(resets.at(0)).toBe(true)
  expect(resets.slice(-2)).toEqual([false, false])
})
