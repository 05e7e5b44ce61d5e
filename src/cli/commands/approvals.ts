/** `callplane approvals`: lists the calls that wait for an approval, and approves or denies them. */
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { parseArguments } from '../arguments.ts'
import {
  ADMINISTRATION_HELP,
  ADMINISTRATION_OPTIONS,
  administer,
  objectsIn,
  remoteFor,
} from '../client/administration.ts'
import type { Remote } from '../client/remote.ts'
import { type Command, type CommandIo, EXIT, type Output, print, usageFault } from '../command.ts'
import { tableText } from '../terminal/table.ts'
import { jsonText, plainText } from '../terminal/text.ts'

export const approvals: Command = {
  help: `
Usage: callplane approvals [list] [--all]
       callplane approvals show <id>
       callplane approvals approve <id> [--why <text>]
       callplane approvals deny <id> [--why <text>]

Shows the calls that a policy holds for an approval, with their arguments, and approves or denies them. It needs a token
with the scope callplane:approve. Without --token and CALLPLANE_TOKEN it uses the administrator's token in the data
folder.

Options:
  --all                  Also lists approvals that are already decided.
  --why <text>           The reason, for the record. The caller of a denied call sees it.
  --json                 Prints the response as JSON.
${ADMINISTRATION_HELP}

Exit codes: 0 done, 1 the approval cannot be decided (too late, or not by you), 2 the command or the credential is
wrong, 3 no server responds.

Examples:
  callplane approvals
  callplane approvals show 019c2b7e-5d1c-7a30-9b42-0d6f4e8a1c55
  callplane approvals approve 019c2b7e-5d1c-7a30-9b42-0d6f4e8a1c55 --why "checked with the customer"`,
  async run(io) {
    const { values, positionals } = parseArguments(io.args, OPTIONS, 2)
    const [action = 'list', id] = positionals
    const wish: Wish = { io, server: remoteFor(values, io), id: id ?? '', values }
    const act = ACTIONS.get(action)
    if (!act) throw usageFault('Name an action: callplane approvals list, show, approve or deny.')
    if (action === 'list' && id !== undefined) throw usageFault(`Unexpected argument "${id}". Remove it.`)
    if (action !== 'list' && id === undefined) throw usageFault('Name the approval; "callplane approvals" lists them.')
    return act(wish)
  },
}

const OPTIONS = {
  ...ADMINISTRATION_OPTIONS,
  all: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  why: { type: 'string' },
} as const

interface Wish {
  io: CommandIo
  server: Remote
  id: string
  values: { all: boolean; json: boolean; why?: string }
}

const ACTIONS: ReadonlyMap<string, (wish: Wish) => Promise<number>> = new Map([
  ['list', list],
  ['show', show],
  ['approve', (wish) => decide(wish, 'approve')],
  ['deny', (wish) => decide(wish, 'deny')],
])

async function list({ io, server, values }: Wish): Promise<number> {
  const found: JsonObject[] = []
  for (let after: JsonValue | undefined, more = true; more; more = after !== undefined) {
    const page = await ask(server, 'list', { all: values.all, limit: 200, ...(after !== undefined && { after }) })
    found.push(...objectsIn(page.approvals))
    after = page.next
  }
  if (values.json) print(io.stdout, jsonText(found, 2))
  else print(io.stdout, found.length === 0 ? nothing(values.all) : table(found, io.stdout))
  return EXIT.ok
}

function nothing(all: boolean): string {
  return all ? 'There are no approvals.' : 'No calls are waiting for an approval.'
}

async function show({ io, server, id }: Wish): Promise<number> {
  print(io.stdout, jsonText(await ask(server, 'get', { id }), 2))
  return EXIT.ok
}

async function decide({ io, server, id, values }: Wish, verdict: 'approve' | 'deny'): Promise<number> {
  const { why } = values
  const decided = await ask(server, 'decide', { id, verdict, ...(why !== undefined && { why }) })
  if (values.json) print(io.stdout, jsonText(decided, 2))
  else print(io.stdout, plainText(`${nameOf(decided)} for ${decided.caller} is ${outcomeOf(decided, verdict)}.`))
  return EXIT.ok
}

function outcomeOf({ waits }: JsonObject, verdict: 'approve' | 'deny'): string {
  if (verdict === 'deny') return 'denied'
  return waits === true ? 'approved and runs now' : 'approved and runs when it is sent again'
}

function ask(server: Remote, action: string, args: JsonObject): Promise<JsonObject> {
  return administer(server, `approvals.${action}`, args, { action: 'decide', scope: 'callplane:approve' })
}

function table(found: readonly JsonObject[], output: Output): string {
  const rows = found.map((one) => [
    String(one.id),
    String(one.status),
    nameOf(one),
    String(one.caller),
    String(one.risk),
    String(one.expiresAt),
    jsonText(one.args),
  ])
  return tableText([['ID', 'STATUS', 'OPERATION', 'CALLER', 'RISK', 'UNTIL', 'ARGUMENTS'], ...rows], output)
}

function nameOf({ operation }: JsonObject): string {
  return String(operation).replace(/@.*$/, '')
}
