/** `callplane replay`: runs ended calls again, each as a new call. */
import { randomUUID } from 'node:crypto'
import type { Envelope } from '../../client/options.ts'
import type { JsonObject } from '../../core/json.ts'
import { parseArguments } from '../arguments.ts'
import {
  ADMINISTRATION_HELP,
  ADMINISTRATION_OPTIONS,
  administer,
  objectsIn,
  remoteFor,
} from '../client/administration.ts'
import { readArguments } from '../client/call-request.ts'
import type { Remote } from '../client/remote.ts'
import { type Command, type CommandIo, EXIT, print, usageFault } from '../command.ts'
import { cellOf } from '../operate/call-rows.ts'
import { printRows } from '../operate/changed.ts'
import { GRAMMAR_HELP } from '../operate/filter-options.ts'
import { calls, SELECTION_HELP, SELECTION_OPTIONS, selectCalls } from '../operate/selection.ts'
import { LINES_HELP, LINES_OPTION, printLines, wantsLines } from '../terminal/lines.ts'
import { createProgressBar } from '../terminal/progress-bar.ts'

export const replay: Command = {
  help: `
Usage: callplane replay <id>… --why <text> [--args <json>] [--as owner|me]
       callplane replay --filter <text> --why <text> [--dead-letters] [--as owner|me]
       callplane replay --dead-letters --why <text>

Runs ended calls again. Each replay is a new call with a new id. The policy decides again, and earlier approvals do not
count. It needs a token with the scope callplane:replay, and for a filter also callplane:read. Without --token and
CALLPLANE_TOKEN it uses the administrator's token in the data folder.

On a terminal it prints a table. Otherwise it prints one JSON object for each call: "from" is the call that ended, and
"id" the new one.

${GRAMMAR_HELP}

Options:
${SELECTION_HELP}
  --dead-letters         Only dead letters that are neither dismissed nor replayed; without --filter all of them.
  --args <json>          Other arguments for one call: JSON, @file, or - for standard input. It then runs as you.
  --as <owner|me>        Runs as the first caller (default), or as you.
${LINES_HELP}
${ADMINISTRATION_HELP}

Exit codes: 0 all calls were started, 1 the server refused some or all, 2 the command or the credential is wrong, 3 no
server responds, 130 interrupted; the replay then goes on at the server. A new call may fail later: see
"callplane runs show <id>".

Examples:
  callplane replay 019c2b7e-5d1c-7a30-9b42-0d6f4e8a1c55 --why "the bank is back"
  callplane replay 019c2b7e-5d1c-7a30-9b42-0d6f4e8a1c55 --args '{"amount":50}' --why "the amount was wrong"
  callplane replay --dead-letters --filter 'code:BANK_AWAY since:1d' --why "the bank is back"`,
  async run(io) {
    const { values, positionals: ids } = parseArguments(io.args, OPTIONS, Number.POSITIVE_INFINITY)
    const as = values.as ?? (values.args === undefined ? 'owner' : 'me')
    if (as !== 'owner' && as !== 'me') throw usageFault(`--as takes owner or me, not "${as}".`)
    if (values.args !== undefined && ids.length !== 1) throw usageFault('--args is for one call. Name one id.')
    const more = { as, ...(values.args !== undefined && { args: await readArguments(values.args, io.stdin) }) }
    const server = remoteFor(values, io)
    const wish = { ...values, ids, deadLetters: values['dead-letters'] }
    const started: JsonObject[] = []
    const refused: JsonObject[] = []
    for (const selected of await selectCalls({ io, server, verb: 'Replay' }, wish)) {
      const result = await send(io, server, { ...selected, ...more })
      started.push(...objectsIn(result.started))
      refused.push(...objectsIn(result.refused))
    }
    if (wantsLines(io, values)) printLines(io.stdout, [...started, ...refused.map(refusedLine)])
    else printTables(io, started, refused)
    return refused.length > 0 ? EXIT.failed : EXIT.ok
  },
}

const OPTIONS = {
  ...ADMINISTRATION_OPTIONS,
  ...LINES_OPTION,
  ...SELECTION_OPTIONS,
  'dead-letters': { type: 'boolean', default: false },
  args: { type: 'string' },
  as: { type: 'string' },
} as const

const WANTED = { action: 'replay calls', scope: 'callplane:replay' }

async function send(io: CommandIo, server: Remote, args: JsonObject): Promise<JsonObject> {
  const bar = createProgressBar(io.stderr)
  let accepted = false
  const onChange = ({ state, progress }: Envelope) => {
    accepted = true
    bar.show(state, progress)
  }
  try {
    return await administer(server, 'calls.replay', args, WANTED, { idempotencyKey: randomUUID(), onChange })
  } catch (thrown) {
    bar.clear()
    if (accepted && io.signal.aborted) {
      print(io.stderr, 'The replay goes on at the server. See: callplane runs op:v1:callplane.calls.replay')
    }
    throw thrown
  } finally {
    bar.clear()
  }
}

/** Here `id` would be the call that ended, but above it is the new one. */
function refusedLine({ id, ...rest }: JsonObject): JsonObject {
  return { from: id ?? null, ...rest }
}

function printTables(io: CommandIo, started: readonly JsonObject[], refused: readonly JsonObject[]): void {
  const begun = started.map(({ from, id }) => [cellOf(from), cellOf(id)])
  printRows(io, `${calls(started.length)} started again:`, ['FROM', 'NEW CALL'], begun)
  const reasons = refused.map(({ id, code, message }) => [id, code, message].map(cellOf))
  printRows(io, `${calls(refused.length)} refused:`, ['ID', 'CODE', 'WHY'], reasons)
}
