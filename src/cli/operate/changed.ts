/** Changes many calls with one operation, and prints what happened to each. */
import type { JsonObject } from '../../core/json.ts'
import { parseArguments } from '../arguments.ts'
import { ADMINISTRATION_OPTIONS, administer, objectsIn, remoteFor, type Wanted } from '../client/administration.ts'
import { type CommandIo, EXIT, print } from '../command.ts'
import { LINES_OPTION, printLines, wantsLines } from '../terminal/lines.ts'
import { tableText } from '../terminal/table.ts'
import { cellOf } from './call-rows.ts'
import { calls, SELECTION_OPTIONS, selectCalls } from './selection.ts'

/** A person sees so many rows, and the number of the others. */
const MOST_ROWS = 20

export interface Change {
  operation: 'calls.cancel' | 'deadletters.dismiss'
  /** For the question, "Cancel", and for the report, "canceled". */
  words: { ask: string; report: string }
  wanted: Wanted
  /** Its filter finds only dead letters. */
  ofDeadLetters: boolean
}

/** Returns the exit code: 1 if a call was skipped. */
export async function changeCalls(io: CommandIo, args: readonly string[], change: Change): Promise<number> {
  const { operation, words, wanted, ofDeadLetters } = change
  const options = { ...ADMINISTRATION_OPTIONS, ...LINES_OPTION, ...SELECTION_OPTIONS }
  const { values, positionals: ids } = parseArguments(args, options, Number.POSITIVE_INFINITY)
  const server = remoteFor(values, io)
  const wish = { ...values, ids, deadLetters: ofDeadLetters && values.filter !== undefined }
  const done: string[] = []
  const skipped: JsonObject[] = []
  for (const selected of await selectCalls({ io, server, verb: words.ask }, wish)) {
    const result = await administer(server, operation, selected, wanted)
    if (Array.isArray(result.done)) done.push(...result.done.map(String))
    skipped.push(...objectsIn(result.skipped))
  }
  if (wantsLines(io, values)) {
    printLines(io.stdout, [
      ...done.map((id) => ({ id, done: true })),
      ...skipped.map(({ id, why }) => ({ id, done: false, why })),
    ])
  } else {
    if (done.length > 0) print(io.stdout, `${calls(done.length)} ${words.report}.`)
    const rows = skipped.map(({ id, why }) => [cellOf(id), cellOf(why)])
    printRows(io, `${calls(skipped.length)} skipped:`, ['ID', 'WHY'], rows)
  }
  return skipped.length > 0 ? EXIT.failed : EXIT.ok
}

/** Prints nothing if there are no rows. */
export function printRows({ stdout }: CommandIo, title: string, head: string[], rows: readonly string[][]): void {
  if (rows.length === 0) return
  print(stdout, title)
  print(stdout, tableText([head, ...rows.slice(0, MOST_ROWS)], stdout))
  if (rows.length > MOST_ROWS) print(stdout, `… and ${rows.length - MOST_ROWS} more. For all of them, add --json.`)
}
