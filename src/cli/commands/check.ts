/** `callplane check`: compares two registries and reports whether callers of the old one can stay unchanged. */
import { Fault } from '../../core/fault.ts'
import { type Change, compareRegistries } from '../../schemas/evolution/registries.ts'
import { parseArguments } from '../arguments.ts'
import { explainFault } from '../client/explain-fault.ts'
import { type Access, readRegistry } from '../client/read-registry.ts'
import { REMOTE_OPTIONS } from '../client/remote.ts'
import { type Command, type CommandIo, EXIT, print, usageFault } from '../command.ts'
import { plainText } from '../terminal/text.ts'

export const check: Command = {
  help: `
Usage: callplane check <old> <new> [options]

Each is the address of a server, a file with the document that a server returns at /.well-known/ops, or a file or folder
of operations, which are loaded but not run. A change is breaking if a call that worked before could now fail, or if its
result could no longer be read.

Options:
  --json                 Prints the changes as JSON.
  --token <token>        For servers that require one. Also CALLPLANE_TOKEN.

Exit codes: 0 no breaking change, 1 at least one, 2 one of the two cannot be read.

Examples:
  callplane check https://api.example.com operations.ts
  callplane check released.json src/operations`,
  async run(io) {
    const { values, positionals } = parseArguments(
      io.args,
      { token: REMOTE_OPTIONS.token, json: { type: 'boolean', default: false } },
      2,
    )
    const [before, after] = positionals
    if (before === undefined || after === undefined)
      throw usageFault('Pass two registries: callplane check <old> <new>')
    const changes = await compare(before, after, values, io)
    const breaking = changes.filter(({ kind }) => kind === 'breaking').length
    print(io.stdout, values.json ? JSON.stringify(changes, null, 2) : describe(changes, breaking))
    return breaking > 0 ? EXIT.failed : EXIT.ok
  },
}

async function compare(before: string, after: string, access: Access, io: CommandIo): Promise<Change[]> {
  const today = new Date().toISOString().slice(0, 10)
  try {
    return compareRegistries(await readRegistry(before, access, io), await readRegistry(after, access, io), today)
  } catch (thrown) {
    // If one of the two registries cannot be read, nothing was compared: that is a usage error, not a breaking change.
    const fault = explainFault(thrown)
    throw fault instanceof Fault ? usageFault(fault.message, thrown) : thrown
  }
}

function describe(changes: readonly Change[], breaking: number): string {
  const lines = changes.map(({ op, path, kind, message }) => {
    const mark = kind === 'breaking' ? 'BREAKING' : 'safe    '
    return plainText(`${mark}  ${op}${path === '' ? '' : `  ${path}`}  ${message}`)
  })
  const safe = changes.length - breaking
  const count = changes.length === 0 ? 'Nothing has changed.' : `${breaking} breaking, ${safe} safe.`
  return [...lines, count].join('\n')
}
