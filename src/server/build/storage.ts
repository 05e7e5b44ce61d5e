/** Opens the call store and the object store. */
import type { NodeFacts } from '../../core/ports/nodes.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { OpenStore, Store } from '../../core/ports/store.ts'
import { createFileObjects } from '../../objects/files/index.ts'
import { createSqliteStore } from '../../stores/sqlite/index.ts'
import type { DataFolder } from '../open/data-folder.ts'
import { refuseMoved } from '../open/moving.ts'
import { bucketOf, type ObjectsOption } from '../options/objects.ts'
import type { ServerOptions } from '../options/options.ts'
import { forWorker, type PostgresOptions } from '../options/postgres.ts'
import type { WorkerLink } from '../workers/link.ts'
import type { Base } from './base.ts'

export interface Storage extends OpenedObjects {
  store: Store
}

interface OpenedObjects {
  objects: ObjectStore
  /** Removes partially written files. Absent if the objects are not in files. */
  sweepUnfinished?: (untouchedForMs: number) => Promise<number>
  /** Closes what this server has opened. The application closes its own object store. */
  closeObjects(): void
}

export async function openStorage(
  options: Pick<ServerOptions, 'store' | 'objects' | 'acceptLoss'>,
  folder: DataFolder,
  base: Base,
  link: WorkerLink | undefined,
  about: () => NodeFacts,
): Promise<Storage> {
  const { acceptLoss = false, store: given } = options
  const { clock, log } = base
  const objects = await openObjects(options.objects, folder, base)
  const open = async () => {
    const chosen = asOpened(given, link?.number)
    if (typeof chosen === 'function') return chosen({ clock, log, about })
    if (chosen) return chosen
    return link
      ? link.openStore(folder.database, log, acceptLoss)
      : createSqliteStore({ file: folder.database, clock, log, acceptLoss })
  }
  let store: Store | undefined
  try {
    store = await open()
    await refuseMoved(store)
    return { ...objects, store }
  } catch (thrown) {
    objects.closeObjects()
    await store?.close()
    throw thrown
  }
}

async function openObjects(
  option: ObjectsOption | undefined,
  folder: DataFolder,
  { clock, log, redactor }: Base,
): Promise<OpenedObjects> {
  if (option === undefined) {
    const files = createFileObjects({ folder: folder.objects, clock })
    return { objects: files, sweepUnfinished: files.sweep, closeObjects: () => {} }
  }
  const bucket = bucketOf(option)
  if (!bucket) return { objects: option as ObjectStore, closeObjects: () => {} }
  const { openS3Objects } = await import('../../objects/s3/index.ts')
  const objects = await openS3Objects({ ...bucket, clock, log, env: process.env, conceal: redactor.add })
  return { objects, closeObjects: () => objects.close() }
}

/** Loaded on use: most servers keep their calls in SQLite. */
export function openPostgres(options: PostgresOptions): OpenStore {
  return async (parts) => {
    const { openPostgresStore } = await import('../../stores/postgres/index.ts')
    return openPostgresStore({ ...options, ...parts })
  }
}

function asOpened(given: ServerOptions['store'], worker = 1): Store | OpenStore | undefined {
  if (typeof given === 'string') return openPostgres({ url: given })
  return given && 'url' in given ? openPostgres(forWorker(given, worker)) : given
}
