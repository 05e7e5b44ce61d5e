/** `callplane runs`: lists the calls of all callers, shows one, and cancels calls. */
import type { CallFilterArgs } from '../../core/filter/call-filter.ts'
import type { JsonObject } from '../../core/json.ts'
import { parseArguments, parseWhole } from '../arguments.ts'
import {
  ADMINISTRATION_HELP,
  ADMINISTRATION_OPTIONS,
  administer,
  objectsIn,
  remoteFor,
} from '../client/administration.ts'
import type { Remote } from '../client/remote.ts'
import { type Command, type CommandIo, EXIT, print, usageFault } from '../command.ts'
import { CALL_HEAD, callRow, cellOf } from '../operate/call-rows.ts'
import { type Change, changeCalls } from '../operate/changed.ts'
import { FILTER_HELP, FILTER_OPTIONS, filterOf, filterText, GRAMMAR_HELP } from '../operate/filter-options.ts'
import { Following } from '../operate/following.ts'
import { noteRest, readPages, SEE_CALLS } from '../operate/pages.ts'
import { SELECTION_HELP } from '../operate/selection.ts'
import { showCall } from '../operate/show-call.ts'
import { LINES_HELP, LINES_OPTION, printLines, wantsLines } from '../terminal/lines.ts'
import { createTable, tableText } from '../terminal/table.ts'

export const runs: Command = {
  help: `
Usage: callplane runs [filter] [options]
       callplane runs show <id> [--args] [--result]
       callplane runs cancel <id>… --why <text>
       callplane runs cancel --filter <text> --why <text>

Lists the calls of all callers that the server has recorded, newest first. It needs a token with the scope
callplane:read; "show --args" and "--result" need callplane:payloads, and "cancel" needs callplane:operate. Without
--token and CALLPLANE_TOKEN it uses the administrator's token in the data folder.

On a terminal it prints a table. Otherwise it prints one JSON object for each call.

${GRAMMAR_HELP}

Options of the list:
${FILTER_HELP}
  --limit <n>            Lists this many calls at most (default: 50, with --follow 10).
  --after <id>           Only older calls than this one.
  --count-by <field>     Counts the calls by state, operation, code or owner instead.
  --follow               Goes on with calls that begin or change, oldest first. Ctrl-C ends it.

Options of show:
  --args                 Also shows the arguments. The audit trail gets an entry.
  --result               Also shows the result, or the whole error. The audit trail gets an entry.

Options of cancel:
${SELECTION_HELP}

Options:
${LINES_HELP}
${ADMINISTRATION_HELP}

Exit codes: 0 done, 1 the server refused, or a call was not canceled, 2 the command or the credential is wrong, 3 no
server responds, 130 interrupted.

Examples:
  callplane runs
  callplane runs 'state:error op:v1:orders.* since:1h'
  callplane runs --state error --count-by code
  callplane runs --state pending --follow
  callplane runs show 019c2b7e-5d1c-7a30-9b42-0d6f4e8a1c55 --args
  callplane runs cancel 019c2b7e-5d1c-7a30-9b42-0d6f4e8a1c55 --why "sent twice"`,
  async run(io) {
    const [action, ...rest] = io.args
    if (action === 'show') return show(io, rest)
    if (action === 'cancel') return changeCalls(io, rest, CANCEL)
    const { values, positionals } = parseArguments(io.args, LIST_OPTIONS, Number.POSITIVE_INFINITY)
    const text = filterText(positionals, 'callplane runs show <id>, or callplane runs cancel <id> --why <text>')
    const filter = filterOf(text, values, Date.now())
    const wish: Wish = { io, server: remoteFor(values, io), values, filter }
    const by = values['count-by']
    if (by !== undefined && values.follow) throw usageFault('--count-by and --follow exclude each other.')
    if (by !== undefined) return count(wish, by)
    return values.follow ? follow(wish) : list(wish)
  },
}

const COMMON_OPTIONS = { ...ADMINISTRATION_OPTIONS, ...LINES_OPTION } as const

const LIST_OPTIONS = {
  ...COMMON_OPTIONS,
  ...FILTER_OPTIONS,
  limit: { type: 'string' },
  after: { type: 'string' },
  'count-by': { type: 'string' },
  follow: { type: 'boolean', default: false },
} as const

const SHOW_OPTIONS = {
  ...COMMON_OPTIONS,
  args: { type: 'boolean', default: false },
  result: { type: 'boolean', default: false },
} as const

interface Wish {
  io: CommandIo
  server: Remote
  values: { json: boolean; limit?: string; after?: string }
  filter: CallFilterArgs
}

const MOST_LISTED = 1_000_000

async function list({ io, server, values, filter }: Wish): Promise<number> {
  const limit = parseWhole(values.limit ?? '50', '--limit', 1, MOST_LISTED)
  const lines = wantsLines(io, values)
  const found: JsonObject[] = []
  const rest = await readPages(server, { operation: 'calls.list', filter, limit, after: values.after }, (calls) => {
    if (lines) printLines(io.stdout, calls)
    else found.push(...calls)
  })
  if (!lines) {
    const rows = found.map((call) => callRow(call, Date.now()))
    print(io.stdout, rows.length === 0 ? 'No calls match.' : tableText([CALL_HEAD, ...rows], io.stdout))
  }
  noteRest(io, rest, values.json)
  return EXIT.ok
}

async function count({ io, server, values, filter }: Wish, by: string): Promise<number> {
  if (!COUNTED.includes(by)) throw usageFault(`--count-by takes ${COUNTED.join(', ')}, not "${by}".`)
  const { total, capped, groups } = await administer(server, 'calls.count', { ...filter, by }, SEE_CALLS)
  const found = objectsIn(groups)
  if (wantsLines(io, values)) printLines(io.stdout, found)
  else {
    const rows = found.map((group) => [cellOf(group.count), cellOf(group.value)])
    print(io.stdout, tableText([['COUNT', by.toUpperCase()], ...rows, [cellOf(total), 'in total']], io.stdout))
  }
  if (capped === true)
    print(io.stderr, 'The server counted only the newest calls, so there may be more. Narrow the filter.')
  return EXIT.ok
}

const COUNTED = ['state', 'operation', 'code', 'owner']

async function follow({ io, server, values, filter }: Wish): Promise<number> {
  const limit = parseWhole(values.limit ?? '10', '--limit', 1, MOST_LISTED)
  const following = new Following(server, filter)
  await following.begin()
  const before: JsonObject[] = []
  const rest = await readPages(server, { operation: 'calls.list', filter, limit, after: values.after }, (calls) => {
    before.push(...calls)
  })
  const table = createTable(io.stdout)
  const lines = wantsLines(io, values)
  const rowOf = (call: JsonObject) => callRow(call, Date.now())
  const show = (call: JsonObject) => print(io.stdout, table.add([rowOf(call)]))
  following.listed(before, rest)
  before.reverse()
  if (lines) printLines(io.stdout, before)
  else print(io.stdout, table.add([CALL_HEAD, ...before.map(rowOf)]))
  return following.run({
    show: lines ? (call) => printLines(io.stdout, [call]) : show,
    missed: () => print(io.stderr, 'Some changes may be missing here. List the calls again to see all of them.'),
  })
}

async function show(io: CommandIo, args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArguments(args, SHOW_OPTIONS, 1)
  const [id] = positionals
  if (id === undefined) throw usageFault('Name the call; "callplane runs" lists them.')
  return showCall(io, remoteFor(values, io), id, values)
}

const CANCEL: Change = {
  operation: 'calls.cancel',
  words: { ask: 'Cancel', report: 'canceled' },
  wanted: { action: 'cancel calls', scope: 'callplane:operate' },
  ofDeadLetters: false,
}
