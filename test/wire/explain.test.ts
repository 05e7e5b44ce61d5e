/** Which reasons of failures go to the log. */
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { Fault } from '../../src/core/fault.ts'
import { storageFault } from '../../src/objects/files/disk.ts'
import { unavailable } from '../../src/stores/postgres/connect/failures.ts'
import { writeFault } from '../../src/stores/sqlite/storage-faults.ts'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { explain } from '../../src/wire/explain.ts'

const reasonOf = (lines: readonly LogLine[]) => lines.map(({ fields }) => fields.err)

test('a failed disk is told to the operator, and not to the caller', () => {
  const lines: LogLine[] = []
  const log = createMemoryLog(lines)
  const write = new Database.SqliteError('disk: input and output', 'SQLITE_IOERR_WRITE')
  const read = Object.assign(new Error('disk: input and output'), { code: 'EIO' })

  const told = [explain(writeFault(write), log), explain(storageFault(read), log)]

  expect(reasonOf(lines)).toEqual([write, read])
  for (const { code, message } of told) {
    expect(code).toBe('STORAGE_FAILED')
    expect(message).toContain('log has the reason')
    expect(message).not.toContain('disk:')
  }
})

test('a database that is away for a while fills no log, and neither does a wrong request', () => {
  const lines: LogLine[] = []
  const log = createMemoryLog(lines)

  explain(unavailable(new Error('connection refused')), log)
  explain(new Fault('malformed', 'This is no JSON.'), log)

  expect(lines).toEqual([])
})
