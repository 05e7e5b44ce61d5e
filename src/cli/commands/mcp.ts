/** `callplane mcp`: the operations of some modules as tools for an agent that starts this command itself. */

import { Console } from 'node:console'
import { statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { createServer } from '../../server/create-server.ts'
import { parseArguments } from '../arguments.ts'
import { type Command, type CommandIo, EXIT, usageFault } from '../command.ts'
import { loadApplication } from '../serve/application.ts'
import { findModulesBeside } from '../serve/modules.ts'

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

export const mcp: Command = {
  help: `
Usage: callplane mcp [file or folder] [options]

Speaks the Model Context Protocol on standard input and output, so that an agent can start it. Takes operations from where
"callplane serve" takes them; the log goes to standard error. In an agent's configuration:

  { "mcpServers": { "orders": {
      "command": "npx", "args": ["--prefix", "/path/to/project", "callplane", "mcp", "/path/to/project/operations"] } } }

Options:
  --data <folder>        Where everything is kept; .callplane beside the operations unless given. Also CALLPLANE_DATA.
  --policy <file>        Who may run what, and what needs an approval.
  --log-level <level>    debug, info, warn, error or silent; warn unless given.

CALLPLANE_TOKEN says who calls, where "server" has "auth"; without "auth" it is whoever started this.
A data folder is for one process at a time: for several agents at once run "callplane serve" and give them its /mcp.`,
  run: serveAgent,
}

async function serveAgent({ args, env, stdin, stdout, stderr, signal }: CommandIo): Promise<number> {
  const settings = parseSettings(args, env)
  // Standard output is the protocol's: what a handler prints would break it.
  if (stdout === process.stdout) globalThis.console = new Console(stderr, stderr)
  const policy = settings.policy === undefined ? undefined : resolve(settings.policy)
  const modules = findModulesBeside(policy, settings.path)
  const application = await loadApplication(modules)
  const own = application.settings
  // Taken out of the environment in any case, so that no handler finds it there.
  const token = env.CALLPLANE_TOKEN
  delete env.CALLPLANE_TOKEN
  const server = await createServer({
    ...own,
    logTo: stderr,
    log: settings.level ?? own.log ?? 'warn',
    data: resolve(settings.data ?? own.data ?? besideOperations(settings.path, modules)),
    ...(policy !== undefined && { policy }),
    operations: application.operations,
    imports: [...(own.imports ?? []), ...application.imports],
    ...(application.context && { context: application.context }),
  })
  // The server's own timers do not keep a process alive; a call that runs on must.
  const alive = setInterval(() => {}, 60_000)
  try {
    await server.serveMcp({ input: stdin, output: stdout, signal, ...(token !== undefined && { token }) })
  } finally {
    await server.close()
    clearInterval(alive)
  }
  return EXIT.ok
}

function parseSettings(args: readonly string[], env: CommandIo['env']) {
  const options = { data: { type: 'string' }, policy: { type: 'string' }, 'log-level': { type: 'string' } } as const
  const { values, positionals } = parseArguments(args, options, 1)
  const level = LEVELS.find((known) => known === values['log-level'])
  if (values['log-level'] !== undefined && !level) throw usageFault(`--log-level is one of ${LEVELS.join(', ')}.`)
  return { path: positionals[0], level, policy: values.policy, data: values.data ?? (env.CALLPLANE_DATA || undefined) }
}

/** An agent starts us from wherever it likes: what is kept must not depend on it. */
function besideOperations(path: string | undefined, [first]: readonly string[]): string {
  if (path !== undefined && statSync(path).isDirectory()) return join(path, '.callplane')
  return join(path === undefined ? '.' : dirname(first ?? path), '.callplane')
}
