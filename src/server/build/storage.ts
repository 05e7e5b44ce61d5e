/** Opens the call store and the object store. */
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { OpenStore, Store } from '../../core/ports/store.ts'
import { createFileObjects } from '../../objects/files/index.ts'
import { createSqliteStore } from '../../stores/sqlite/index.ts'
import type { DataFolder } from '../open/data-folder.ts'
import type { ServerOptions } from '../options/options.ts'
import type { PostgresOptions } from '../options/postgres.ts'
import type { WorkerLink } from '../workers/link.ts'
import type { Base } from './base.ts'

export interface Storage {
  store: Store
  objects: ObjectStore
  /** Removes partially written files. Absent if the application provides its own object store. */
  sweepUnfinished: ((untouchedForMs: number) => Promise<number>) | undefined
}

export async function openStorage(
  options: Pick<ServerOptions, 'store' | 'objects' | 'acceptLoss'>,
  folder: DataFolder,
  { clock, log }: Base,
  link: WorkerLink | undefined,
): Promise<Storage> {
  const { acceptLoss = false } = options
  const own = options.objects ? undefined : createFileObjects({ folder: folder.objects, clock })
  const objects = options.objects ?? (own as NonNullable<typeof own>)
  const { store: given } = options
  const open = async () => {
    const chosen = asOpened(given)
    if (typeof chosen === 'function') return chosen({ clock, log })
    if (chosen) return chosen
    return link
      ? link.openStore(folder.database, log, acceptLoss)
      : createSqliteStore({ file: folder.database, clock, log, acceptLoss })
  }
  return { objects, store: await open(), sweepUnfinished: own?.sweep }
}

/** Loaded on use: most servers keep their calls in SQLite. */
export function openPostgres(options: PostgresOptions): OpenStore {
  return async ({ clock, log }) => {
    const { openPostgresStore } = await import('../../stores/postgres/index.ts')
    return openPostgresStore({ ...options, clock, log })
  }
}

function asOpened(given: ServerOptions['store']): Store | OpenStore | undefined {
  if (typeof given === 'string') return openPostgres({ url: given })
  return given && 'url' in given ? openPostgres(given) : given
}
