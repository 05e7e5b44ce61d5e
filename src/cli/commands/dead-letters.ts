/** `callplane dead-letters`: lists calls that failed in a tool or in the server, and dismisses them. */
import type { CallFilterArgs } from '../../core/filter/call-filter.ts'
import type { JsonObject } from '../../core/json.ts'
import { parseArguments, parseWhole } from '../arguments.ts'
import { ADMINISTRATION_HELP, ADMINISTRATION_OPTIONS, objectsIn, remoteFor } from '../client/administration.ts'
import type { Remote } from '../client/remote.ts'
import { type Command, type CommandIo, EXIT, print } from '../command.ts'
import { CALL_HEAD, callRow, cellOf } from '../operate/call-rows.ts'
import { type Change, changeCalls } from '../operate/changed.ts'
import { FILTER_HELP, FILTER_OPTIONS, filterOf, filterText, GRAMMAR_HELP } from '../operate/filter-options.ts'
import { noteRest, readPages } from '../operate/pages.ts'
import { SELECTION_HELP } from '../operate/selection.ts'
import { ageText } from '../terminal/duration.ts'
import { LINES_HELP, LINES_OPTION, printLines, wantsLines } from '../terminal/lines.ts'
import { tableText } from '../terminal/table.ts'

export const deadLetters: Command = {
  help: `
Usage: callplane dead-letters [filter] [options]
       callplane dead-letters dismiss <id>… --why <text>
       callplane dead-letters dismiss --filter <text> --why <text>

Lists calls that ended by a timeout or by a failure of a tool or of the server, newest first, until they are dismissed
or replayed. To run them again, use "callplane replay". It needs a token with the scope callplane:read, and to dismiss
them callplane:operate. Without --token and CALLPLANE_TOKEN it uses the administrator's token in the data folder.

On a terminal it prints them by operation and code, and then as a table. Otherwise it prints one JSON object for each
call. A dismissed call stays in the list of calls.

${GRAMMAR_HELP}

Options of the list:
${FILTER_HELP}
  --limit <n>            Lists this many calls at most (default: 50).
  --after <id>           Only older calls than this one.
  --groups               Prints only how many there are by operation and code.

Options of dismiss:
${SELECTION_HELP}

Options:
${LINES_HELP}
${ADMINISTRATION_HELP}

Exit codes: 0 done, 1 the server refused, or a call was not dismissed, 2 the command or the credential is wrong, 3 no
server responds, 130 interrupted.

Examples:
  callplane dead-letters
  callplane dead-letters 'op:v1:orders.* since:1d'
  callplane dead-letters --groups | jq .count
  callplane dead-letters dismiss --filter 'code:CARD_STOLEN' --why "the bank knows"`,
  async run(io) {
    const [action, ...rest] = io.args
    if (action === 'dismiss') return changeCalls(io, rest, DISMISS)
    const { values, positionals } = parseArguments(io.args, LIST_OPTIONS, Number.POSITIVE_INFINITY)
    const text = filterText(positionals, 'callplane dead-letters dismiss <id> --why <text>, or callplane replay <id>')
    return list({ io, server: remoteFor(values, io), values }, filterOf(text, values, Date.now()))
  },
}

const LIST_OPTIONS = {
  ...ADMINISTRATION_OPTIONS,
  ...LINES_OPTION,
  ...FILTER_OPTIONS,
  limit: { type: 'string', default: '50' },
  after: { type: 'string' },
  groups: { type: 'boolean', default: false },
} as const

const DISMISS: Change = {
  operation: 'deadletters.dismiss',
  words: { ask: 'Dismiss', report: 'dismissed' },
  wanted: { action: 'dismiss dead letters', scope: 'callplane:operate' },
  ofDeadLetters: true,
}

interface Wish {
  io: CommandIo
  server: Remote
  values: { json: boolean; limit: string; after?: string; groups: boolean }
}

async function list({ io, server, values }: Wish, filter: CallFilterArgs): Promise<number> {
  const limit = values.groups ? 1 : parseWhole(values.limit, '--limit', 1, 1_000_000)
  const lines = wantsLines(io, values)
  const found: JsonObject[] = []
  const groups: JsonObject[] = []
  const query = { operation: 'deadletters.list' as const, filter, limit, after: values.after }
  const rest = await readPages(server, query, (calls, page) => {
    // Only the first page has groups.
    groups.push(...objectsIn(page.groups))
    if (lines && !values.groups) printLines(io.stdout, calls)
    else found.push(...calls)
  })
  if (values.groups && lines) printLines(io.stdout, groups)
  if (!lines) printTables(io, groups, values.groups ? [] : found)
  if (!values.groups) noteRest(io, rest, values.json)
  return EXIT.ok
}

function printTables(io: CommandIo, groups: readonly JsonObject[], found: readonly JsonObject[]): void {
  const { stdout } = io
  const now = Date.now()
  const rows = groups.map(({ count, operation, code, lastAt }) => [
    ...[count, operation, code].map(cellOf),
    `${ageText(lastAt, now)} ago`,
  ])
  // After a call in the middle of the list, there are no groups.
  if (rows.length === 0 && found.length === 0) print(stdout, 'There are no dead letters that match.')
  if (rows.length > 0) print(stdout, tableText([['COUNT', 'OPERATION', 'CODE', 'LAST'], ...rows], stdout))
  if (rows.length > 0 && found.length > 0) print(stdout, '')
  if (found.length > 0) print(stdout, tableText([CALL_HEAD, ...found.map((call) => callRow(call, now))], stdout))
}
