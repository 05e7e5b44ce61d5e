/** Changes that are lost between processes end in a reset, on SQLite and on Postgres. */
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../src/core/ports/store.ts'
import type { ManualClock } from '../../src/testing/fakes/clock.ts'
import { createMemoryLog } from '../../src/testing/fakes/memory-log.ts'
import { idsOf, loseBatches, openSettled } from '../engine/change-cluster.ts'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { usePostgres } from '../engines/use-postgres.ts'
import { inPostgres, inSqlite, type Place } from '../scenarios/places.ts'

/** Both processes have one place: on Postgres with a store each, on SQLite with one for both. */
function recordsAt(place: Place, isShared: boolean) {
  let opened: Promise<Store> | undefined
  return async (clock: ManualClock) => {
    if (opened && isShared) return (await opened).records
    opened = Promise.resolve(place.store({ clock, log: createMemoryLog([]) }))
    const store = await opened
    onTestFinished(() => store.close())
    return store.records
  }
}

function describeLosses(newRecords: () => ReturnType<typeof recordsAt>): void {
  test('what is not lost is told', async () => {
    const { here, there, advance, after } = await openSettled(newRecords())

    there.change('one')
    await advance(1_000)
    const heard = await here.ask(after)

    expect(idsOf(heard)).toEqual(['one'])
    expect(heard.reset).toBeUndefined()
  })

  test('more changes at once than are passed on end in a reset', async () => {
    const { here, there, advance, after } = await openSettled(newRecords())

    there.change('many', 1_001)
    await advance(1_000)

    expect(await here.ask(after)).toMatchObject({ events: [], reset: true })
  })

  test('a batch that nobody could read ends in a reset', async () => {
    const { here, there, advance, after } = await openSettled(newRecords())
    here.state.canReach = false
    there.change('lost')
    await advance(1_000)
    await loseBatches(there.records)

    here.state.canReach = true
    await advance(1_000)

    expect(await here.ask(after)).toMatchObject({ reset: true })
  })

  test('the death of a process ends in a reset', async () => {
    const { here, there, advance, after } = await openSettled(newRecords())

    there.change('lost')
    there.kill()
    await advance(20_000)

    expect(await here.ask(after)).toMatchObject({ reset: true })
  })
}

describe('changes between processes on one SQLite file', () => {
  describeLosses(() => recordsAt(inSqlite(), true))
})

describeWith(postgresServer, 'changes between nodes on one Postgres', () => {
  const postgres = usePostgres()
  describeLosses(() => recordsAt(inPostgres(postgres)(), false))
})
