/** `callplane mcp`: offers the operations of some modules as tools to an agent that starts this command. */

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

Speaks the Model Context Protocol on standard input and output, so that an agent can start it. Loads operations from
where "callplane serve" does; the log goes to standard error. In an agent's configuration:

  { "mcpServers": { "orders": {
      "command": "npx", "args": ["--prefix", "/path/to/project", "callplane", "mcp", "/path/to/project/operations"] } } }

Options:
  --data <folder>        The data folder (default: .callplane beside the operations). Also CALLPLANE_DATA.
  --policy <file>        Who may run what, and what needs an approval.
  --log-level <level>    debug, info, warn, error or silent (default: warn).

If "server" has "auth", CALLPLANE_TOKEN identifies the caller. Without "auth" the caller is the user who started this.
Only one process can use a data folder: for several agents at once, run "callplane serve" and connect them to its /mcp.`,
  run: serveAgent,
}

async function serveAgent({ args, env, stdin, stdout, stderr, signal }: CommandIo): Promise<number> {
  const settings = parseSettings(args, env)
  // Standard output belongs to the protocol, so a handler's console output goes to standard error.
  if (stdout === process.stdout) globalThis.console = new Console(stderr, stderr)
  const policy = settings.policy === undefined ? undefined : resolve(settings.policy)
  const modules = findModulesBeside(policy, settings.path)
  const application = await loadApplication(modules)
  const own = application.settings
  // Always removed from the environment, so that no handler can read it.
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
  // The server's timers do not keep the process alive; a running call must.
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
  if (values['log-level'] !== undefined && !level) throw usageFault(`--log-level must be one of ${LEVELS.join(', ')}.`)
  return { path: positionals[0], level, policy: values.policy, data: values.data ?? (env.CALLPLANE_DATA || undefined) }
}

/** An agent may start this command in any folder. The data folder must not depend on that. */
function besideOperations(path: string | undefined, [first]: readonly string[]): string {
  if (path !== undefined && statSync(path).isDirectory()) return join(path, '.callplane')
  return join(path === undefined ? '.' : dirname(first ?? path), '.callplane')
}
