/** The queries of maintenance: calls past their expiry, calls to remove, and the number of open calls. */
import type { Database } from 'better-sqlite3'
import type { Instance } from '../../core/call/instance.ts'
import { ENTRY_COLUMNS, type EntryRow } from './audit.ts'
import type { Action } from './group-commit.ts'
import type { CountedRow } from './open-calls.ts'
import type { Owners } from './owners.ts'
import type { RequestIndex } from './requests/request-index.ts'
import type { Decode, InstanceRow } from './rows.ts'
import { writeFault } from './storage-faults.ts'

export interface UpkeepParts {
  owners: Owners
  requests: RequestIndex
  decode: Decode
  archive(row: EntryRow): void
}

export function prepareUpkeep(db: Database, { owners, requests, decode, archive }: UpkeepParts) {
  const overdue = db.prepare<[number, number], InstanceRow>(
    `SELECT * FROM instances WHERE ended = 0 AND expires_at <= ? ORDER BY expires_at LIMIT ?`,
  )
  const expiring = db
    .prepare<[number, number], string>(
      `SELECT id FROM instances WHERE ended = 1 AND keep_until <= ? ORDER BY keep_until LIMIT ?`,
    )
    .pluck()
  const removeAliases = db.prepare<[string]>('DELETE FROM aliases WHERE instance_id = ?')
  const remove = db.prepare<[string], EntryRow>(`DELETE FROM instances WHERE id = ? RETURNING ${ENTRY_COLUMNS}`)
  const open = db.prepare<[], CountedRow>(
    `SELECT owners.tenant, owners.owner, operation, count(*) AS open,
       sum(attempt = ifnull(extras ->> 'unbegun', 0) AND (extras IS NULL OR extras ->> 'held' IS NULL)) AS queued
     FROM instances INDEXED BY instances_open JOIN owners ON owners.ref = instances.owner
     WHERE ended = 0 GROUP BY instances.owner, operation`,
  )

  return {
    overdue: (now: number, limit: number): readonly Instance[] => overdue.all(now, limit).map(decode),

    expiring: (now: number, limit: number): readonly string[] => expiring.all(now, limit),

    remove(ids: readonly string[]): Action<void> {
      return () => {
        const left = new Set<number>()
        for (const id of ids) {
          removeAliases.run(id)
          const row = remove.get(id)
          if (!row) continue
          archive(row)
          requests.remove(row)
          left.add(row.owner)
        }
        for (const owner of left) owners.removeIdle(owner)
      }
    },

    /**
     * Copies the pages of a removal from the log into the file, which takes 2 ms. Otherwise the scattered pages of many
     * removals stay in the log until it has 4,000 pages, and the commit that then copies them took 25 ms and more.
     */
    settle(): void {
      try {
        db.pragma('wal_checkpoint(PASSIVE)')
      } catch (thrown) {
        throw writeFault(thrown)
      }
    },

    countOpen: (): readonly CountedRow[] => open.all(),
  }
}
