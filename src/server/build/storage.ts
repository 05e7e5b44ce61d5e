/** Opens the call store and the object store. */
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Store } from '../../core/ports/store.ts'
import { createFileObjects } from '../../objects/files/index.ts'
import { createSqliteStore } from '../../stores/sqlite/index.ts'
import type { DataFolder } from '../open/data-folder.ts'
import type { ServerOptions } from '../options/options.ts'
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
    if (typeof given === 'function') return given({ clock, log })
    if (given) return given
    return link
      ? link.openStore(folder.database, log, acceptLoss)
      : createSqliteStore({ file: folder.database, clock, log, acceptLoss })
  }
  return { objects, store: await open(), sweepUnfinished: own?.sweep }
}
