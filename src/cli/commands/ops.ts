/** `callplane ops`: lists the operations of a server. */
import type { RegistryEntry } from '../../client/registry.ts'
import { parseArguments } from '../arguments.ts'
import { REMOTE_HELP, REMOTE_OPTIONS, Remote } from '../client/remote.ts'
import { type Command, EXIT, type Output, print } from '../command.ts'
import { fitted } from '../terminal/text.ts'

export const ops: Command = {
  help: `
Usage: callplane ops [options]

Options:
  --json                 Prints the entries of the registry as JSON.
${REMOTE_HELP}

Examples:
  callplane ops
  callplane ops --json | jq '.[].op'`,
  async run(io) {
    const { values } = parseArguments(io.args, { ...REMOTE_OPTIONS, json: { type: 'boolean', default: false } }, 0)
    const entries = await new Remote(values, io).registry()
    print(io.stdout, values.json ? JSON.stringify(entries, null, 2) : table(entries, io.stdout))
    return EXIT.ok
  },
}

function table(entries: readonly RegistryEntry[], output: Output): string {
  const rows = entries
    .map((entry) => [
      String(entry.op),
      String(entry.executionModel ?? ''),
      flagsOf(entry),
      String(entry.description ?? ''),
    ])
    .sort(([a = ''], [b = '']) => a.localeCompare(b))
  const all = [['OPERATION', 'MODEL', 'FLAGS', 'DESCRIPTION'], ...rows]
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => (row[column] ?? '').length)))
  return all.map((row) => lineOf(row, widths, output)).join('\n')
}

/** Cuts a line to the width of a terminal; a pipe gets the whole line. */
function lineOf(row: readonly string[], widths: readonly number[], { isTTY, columns }: Output): string {
  const line = row
    .map((cell, column) => cell.padEnd(widths[column] ?? 0))
    .join('  ')
    .trimEnd()
  return fitted(line, isTTY ? columns || 80 : Number.POSITIVE_INFINITY)
}

function flagsOf(entry: RegistryEntry): string {
  const media = Array.isArray(entry.mediaSchema) && entry.mediaSchema.length > 0
  const flags = [
    entry.deprecated === true && (typeof entry.sunset === 'string' ? `deprecated until ${entry.sunset}` : 'deprecated'),
    entry.sideEffecting === true && 'effects',
    entry.idempotencyRequired === true && 'key',
    media && 'media',
    entry.chunked === true && 'chunked',
  ]
  return flags.filter((flag) => flag !== false).join(', ')
}
