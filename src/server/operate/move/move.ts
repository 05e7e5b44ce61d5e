/**
 * Moves the calls of an embedded database to Postgres, with their ids. It can be interrupted and run again: what is there
 * is not written twice. A mark in the target keeps servers away until all of it was compared.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../../../core/fault.ts'
import type { ObjectStore } from '../../../core/ports/objects.ts'
import type { Store } from '../../../core/ports/store.ts'
import type { StoreDump } from '../../../core/ports/store-dump.ts'
import { createFileObjects } from '../../../objects/files/index.ts'
import { createSqliteStore } from '../../../stores/sqlite/index.ts'
import { createLog } from '../../../telemetry/index.ts'
import { systemClock } from '../../build/environment.ts'
import { type Mark, readMark, removeMark, writeMark } from '../../open/moving.ts'
import { databaseIn } from '../schemas.ts'
import { type Check, compareStores } from './compare.ts'
import { copyStore } from './copy.ts'
import { copyObjects } from './objects.ts'

export interface MoveOptions {
  /** The data folder. No server may use it. */
  from: string
  /** The address of a Postgres database. */
  to: string
  schema: string
  /** The address of a bucket. Default: objects stay in the data folder. */
  objects?: string
  env: NodeJS.ProcessEnv
  /** Called with what was copied so far. */
  progress(what: string, count: number): void
}

export interface Moved extends Check {
  /** Objects that were copied, or were there already. */
  objects: number
}

export async function moveStore(options: MoveOptions): Promise<Moved> {
  const source = openSource(options.from)
  try {
    const { openPostgresStore } = await import('../../../stores/postgres/index.ts')
    const { countRows } = await import('../../../stores/postgres/operate/row-counts.ts')
    const { to: url, schema } = options
    const before = await countRows(url, schema)
    const target = await openPostgresStore({ url, schema, clock: systemClock })
    try {
      const mark = { from: options.from, to: shownOf(url, schema) }
      const marks = { source: await readMark(source.records), target: await readMark(target.records) }
      if (marks.source?.done && marks.source.to === mark.to && !marks.target) throw isDone(mark)
      await claimTarget(target, before.calls + before.records + before.audit === 0, mark)
      const moved = await moveInto(source, target, options)
      const { calls } = await countRows(url, schema)
      if (calls !== moved.calls + moved.aliases)
        throw differs('The target has calls that the source does not have.', schema)
      // First the source, so that no moment is left in which both could be served.
      await writeMark(source.records, { ...mark, done: true })
      await removeMark(target.records)
      return moved
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

type Source = Store & { dump: StoreDump }

function openSource(from: string): Source {
  const file = databaseIn(from)
  if (!existsSync(file))
    throw new Fault('not-found', `There is no database in ${from}. Name the data folder with --from.`)
  const store = createSqliteStore({ file, clock: systemClock, log: createLog({ level: 'silent' }) })
  return store as Source
}

async function claimTarget(target: Store, isEmpty: boolean, mark: Mark): Promise<void> {
  const found = await readMark(target.records)
  // A move is a node without facts. One that was killed may still count as alive. Old servers told nothing at all.
  const servers = ((await target.nodes?.()) ?? []).filter(({ facts, schema }) => facts || schema === undefined)
  if (servers.length > 0)
    throw new Fault('conflict', `Servers use ${mark.to}. Stop them, or name another --schema.`, {
      code: 'TARGET_IN_USE',
    })
  if (found ? found.from !== mark.from : !isEmpty)
    throw new Fault('conflict', `${mark.to} is not empty. Name another database or another --schema.`, {
      code: 'TARGET_NOT_EMPTY',
    })
  await writeMark(target.records, mark)
}

async function moveInto(source: Source, target: Store, options: MoveOptions): Promise<Moved> {
  const { progress, schema, from } = options
  const { readAttempts, writeAttempts } = await import('../../../stores/postgres/operate/attempt-histories.ts')
  const { readExpiries } = await import('../../../stores/postgres/operate/record-expiries.ts')
  await copyStore(source, target, (all) => writeAttempts(options.to, schema, all), progress)
  const bucket = options.objects === undefined ? undefined : await openBucket(options.objects, options.env)
  try {
    const files = createFileObjects({ folder: join(from, 'objects'), clock: systemClock })
    const objects = bucket ? await copyObjects(source.dump, files, bucket, progress) : 0
    const check = await compareStores(source, target, {
      expiriesOf: (keys) => readExpiries(options.to, schema, keys),
      attemptsOf: (ids) => readAttempts(options.to, schema, ids),
    })
    if (!check) throw differs('Some calls, records or audit entries differ.', schema)
    return { ...check, objects }
  } finally {
    bucket?.close()
  }
}

async function openBucket(url: string, env: NodeJS.ProcessEnv): Promise<ObjectStore & { close(): void }> {
  const { openS3Objects } = await import('../../../objects/s3/index.ts')
  const log = createLog({ level: 'silent' })
  return openS3Objects({ url, clock: systemClock, log, env, conceal: () => () => {} })
}

/** A move that was killed at its very end did not say so. */
function isDone({ from, to }: Mark): Fault {
  return new Fault(
    'conflict',
    `All calls in ${from} were moved to ${to} and compared. Start the servers with --store and that address.`,
    { code: 'MOVE_DONE' },
  )
}

function differs(what: string, schema: string): Fault {
  return new Fault(
    'conflict',
    `${what} Was the source used since an earlier, interrupted move? Drop the schema ${schema} of the target, and move again.`,
    { code: 'MOVE_DIFFERS' },
  )
}

function shownOf(url: string, schema: string): string {
  const [, rest = ''] = /^[a-z]+:\/\/(?:[^@/]*@)?([^?]*)/.exec(url) ?? []
  return `${rest} (schema ${schema})`
}
