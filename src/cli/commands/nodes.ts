/** `callplane nodes`: lists the nodes of a server and what they do. */
import type { JsonObject } from '../../core/json.ts'
import { parseArguments } from '../arguments.ts'
import {
  ADMINISTRATION_HELP,
  ADMINISTRATION_OPTIONS,
  administer,
  objectsIn,
  remoteFor,
} from '../client/administration.ts'
import { type Command, EXIT, print } from '../command.ts'
import { LINES_HELP, LINES_OPTION, printLines, wantsLines } from '../terminal/lines.ts'
import { tableText } from '../terminal/table.ts'
import { plainLine } from '../terminal/text.ts'

export const nodes: Command = {
  help: `
Usage: callplane nodes [options]

Lists the nodes that share the server's store, or its worker processes: where each runs, its versions, its load, and the
operations that it runs most. It needs a token with the scope callplane:read. Without --token and CALLPLANE_TOKEN it
uses the administrator's token in the data folder.

On a terminal it prints a table. Otherwise it prints one JSON object for each node.

Options:
${LINES_HELP}
${ADMINISTRATION_HELP}

Exit codes: 0 done, 2 the command or the credential is wrong, 3 no server responds.

Examples:
  callplane nodes
  callplane nodes | jq 'select(.draining)'`,
  async run(io) {
    const { values } = parseArguments(io.args, { ...ADMINISTRATION_OPTIONS, ...LINES_OPTION }, 0)
    const wanted = { action: 'see the nodes', scope: 'callplane:read' }
    const result = await administer(remoteFor(values, io), 'nodes.list', {}, wanted)
    const found = objectsIn(result.nodes)
    if (wantsLines(io, values)) {
      printLines(io.stdout, found)
      return EXIT.ok
    }
    print(io.stdout, tableText([HEAD, ...found.map(rowOf)], io.stdout))
    print(io.stdout, `\nIn the store: ${plainLine(`${result.open} open calls, ${result.queued} of them queued`)}.`)
    return EXIT.ok
  },
}

const HEAD = [
  'NODE',
  'STATE',
  'HOST',
  'PID',
  'VERSION',
  'SCHEMA',
  'SINCE',
  'BUSY',
  'RUNNING',
  'WAITING',
  'ADDRESS',
  'RUNS',
]

function rowOf(node: JsonObject): string[] {
  const { draining, host, pid, version, schema, startedAt, busy, running, waiting, address } = node
  const state = draining === undefined ? '?' : draining === true ? 'draining' : 'up'
  const since = typeof startedAt === 'string' ? startedAt.replace(/\.\d+Z$/, 'Z') : '?'
  const percent = typeof busy === 'number' ? `${Math.round(busy * 100)}%` : '?'
  const cells = [node.node, state, host, pid, version, schema, since, percent, running, waiting, address, runsOf(node)]
  return cells.map((cell) => plainLine(cell === undefined ? '?' : String(cell)))
}

function runsOf({ operations }: JsonObject): string {
  return objectsIn(operations)
    .map(({ operation, calls }) => `${String(operation).replace(/@.*$/, '')} ${calls}`)
    .join(', ')
}
