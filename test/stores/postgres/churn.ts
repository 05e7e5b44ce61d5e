/** Makes generations pass while a test runs: new ones, and old ones whose calls move to the kept ones. */
import type { Store } from '../../../src/core/ports/store.ts'
import { parseAddress } from '../../../src/stores/postgres/connect/address.ts'
import { loadDriver } from '../../../src/stores/postgres/connect/driver.ts'
import { Connection, statement } from '../../../src/stores/postgres/connect/session.ts'
import { Generations } from '../../../src/stores/postgres/generations/generations.ts'
import { createRetirement } from '../../../src/stores/postgres/generations/retirement.ts'
import { createRotation, USUAL_ROTATION } from '../../../src/stores/postgres/generations/rotation.ts'
import { createSample } from '../../../src/stores/postgres/generations/sample.ts'
import { type Surveyed, surveyOf } from '../../../src/stores/postgres/generations/survey.ts'
import { tablesOf } from '../../../src/stores/postgres/tables.ts'
import type { Postgres } from '../../engines/postgres.ts'

export interface Churn extends AsyncDisposable {
  /** Closes the current generation and opens the next one. */
  rotate(): Promise<void>
  /** Moves all calls of the oldest closed generation to the kept ones, also new ones, and drops it. */
  retire(): Promise<void>
}

export async function openSession(server: Postgres): Promise<Connection> {
  const address = parseAddress(server.url)
  const limits = { connectMs: 5_000, statementMs: 5_000 }
  const connection = new Connection({ driver: await loadDriver(), address, pooled: false, ...limits })
  await connection.open()
  return connection
}

export async function openChurn(server: Postgres, schema: string, now: () => number): Promise<Churn> {
  const session = await openSession(server)
  const tables = tablesOf(schema)
  const generations = new Generations(tables)
  const sample = createSample(tables)
  const list = statement(`${surveyOf(tables, 'true AS seen')} ORDER BY number`)
  const survey = async (state: Surveyed['state']) =>
    (await session.query<Surveyed>(list)).rows.filter((each) => each.state === state)
  const rotation = createRotation({ tables, generations, sample, rules: USUAL_ROTATION, now })
  // Nothing is over at this time, so that every call is moved.
  const audit = { archive: async () => {} }
  const forTime = (at: () => number) =>
    createRetirement({ tables, generations, audit, sample, smallBytes: Number.POSITIVE_INFINITY, now: at })

  return {
    async rotate() {
      await generations.refresh(session)
      await insist(() => rotation.rotate(session, generations.current))
    },
    async retire() {
      const retirement = forTime(() => 0)
      await generations.refresh(session)
      if (await retirement.begin(session, await survey('closed')))
        await insist(async () => retirement.take(session, await retirement.archive(session, 10_000), true))
      await insist(async () => forTime(() => Number.MAX_SAFE_INTEGER).dropEmptied(session, await survey('emptied')))
    },
    [Symbol.asyncDispose]: () => session.close(),
  }
}

/** A lock that is held at this moment is tried again, as maintenance does. */
async function insist(work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await work()
    } catch (thrown) {
      if ((thrown as { code?: unknown }).code !== '55P03') throw thrown
    }
  }
}

/** The store, with a generation that passes before every so many requests. Requests keep their order. */
export function amid(churn: Churn, store: Store, every: number): Store {
  let last: Promise<unknown> = Promise.resolve()
  let requests = 0
  const pass = async () => {
    if (++requests % every > 0) return
    await churn.rotate()
    if (requests % (2 * every) === 0) await churn.retire()
  }
  const delayed =
    <A extends unknown[], R>(run: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> => {
      const turn = last.then(pass)
      last = turn
      return turn.then(() => run(...args))
    }
  return {
    ...store,
    accept: delayed(store.accept),
    alias: delayed(store.alias),
    get: delayed(store.get),
    find: delayed(store.find),
    claim: delayed(store.claim),
    extend: delayed(store.extend),
    advance: delayed(store.advance),
    answer: delayed(store.answer),
    progress: delayed(store.progress),
    tell: delayed(store.tell),
    requestStop: delayed(store.requestStop),
    overdue: delayed(store.overdue),
    expire: delayed(store.expire),
    close: delayed(store.close),
    audit: { ...store.audit, list: delayed(store.audit.list) },
  }
}
