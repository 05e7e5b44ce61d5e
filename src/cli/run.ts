/** Finds and runs a command, and prints its faults. Each command is loaded only when it is used. */
import { Fault } from '../core/fault.ts'
import { nearest } from '../core/nearest.ts'
import { packageVersion } from '../server/build/package-version.ts'
import { explainFault } from './client/explain-fault.ts'
import { type Command, type CommandIo, EXIT, exitCodeOf, print, usageFault } from './command.ts'
import { plainText } from './terminal/text.ts'

interface Entry {
  summary: string
  load(): Promise<Command>
}

const COMMANDS: Readonly<Record<string, Entry>> = {
  serve: {
    summary: 'Serves the operations in a file or a folder.',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  mcp: {
    summary: 'Offers the operations in a file or a folder to an agent, over standard input and output.',
    load: async () => (await import('./commands/mcp.ts')).mcp,
  },
  call: {
    summary: 'Calls an operation and prints its result.',
    load: async () => (await import('./commands/call.ts')).call,
  },
  ops: {
    summary: 'Lists the operations of a server.',
    load: async () => (await import('./commands/ops.ts')).ops,
  },
  check: {
    summary: 'Compares two registries and finds what breaks callers.',
    load: async () => (await import('./commands/check.ts')).check,
  },
  generate: {
    summary: 'Generates types, clients and documents from a registry.',
    load: async () => (await import('./commands/generate.ts')).generate,
  },
  policy: {
    summary: 'Shows what a policy would decide about a call, without running it.',
    load: async () => (await import('./commands/policy.ts')).policy,
  },
  approvals: {
    summary: 'Lists the calls that wait for an approval, and approves or denies them.',
    load: async () => (await import('./commands/approvals.ts')).approvals,
  },
  runs: {
    summary: 'Lists the calls of all callers, shows one, and cancels calls.',
    load: async () => (await import('./commands/runs.ts')).runs,
  },
  replay: {
    summary: 'Runs ended calls again.',
    load: async () => (await import('./commands/replay.ts')).replay,
  },
  'dead-letters': {
    summary: 'Lists calls that failed in a tool or in the server, and dismisses them.',
    load: async () => (await import('./commands/dead-letters.ts')).deadLetters,
  },
  'login-link': {
    summary: 'Prints a link that opens the console of a running server.',
    load: async () => (await import('./commands/login-link.ts')).loginLink,
  },
  nodes: {
    summary: 'Lists the nodes of a server and what they do.',
    load: async () => (await import('./commands/nodes.ts')).nodes,
  },
  migrate: {
    summary: 'Shows or applies the migrations that a store lacks.',
    load: async () => (await import('./commands/migrate.ts')).migrate,
  },
  doctor: {
    summary: 'Finds misconfiguration of a database, a data folder or a bucket.',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  move: {
    summary: 'Moves the calls of a data folder to Postgres.',
    load: async () => (await import('./commands/move.ts')).move,
  },
  conformance: {
    summary: 'Tests a server against the requirements of a protocol.',
    load: async () => (await import('./conformance/command.ts')).conformance,
  },
  secrets: {
    summary: 'Stores secrets for remote tools, encrypted in the data folder.',
    load: async () => (await import('./commands/secrets.ts')).secrets,
  },
  token: {
    summary: 'Creates a token, and the hash of it for the configuration.',
    load: async () => (await import('./commands/token.ts')).token,
  },
}

export async function run(io: CommandIo): Promise<number> {
  const debug = io.args.includes('--debug') || Boolean(io.env.DEBUG)
  const [name = '', ...args] = io.args.filter((arg) => arg !== '--debug')
  try {
    return await dispatch(name, { ...io, args })
  } catch (thrown) {
    // An interrupted command prints nothing more.
    if (io.signal.aborted && !(thrown instanceof Fault)) return EXIT.interrupted
    return explain(explainFault(thrown), name, io, debug)
  }
}

async function dispatch(name: string, io: CommandIo): Promise<number> {
  if (name === '--version' || name === '-v') return say(io, packageVersion())
  if (name === '' || name === '--help' || name === '-h') return say(io, overview())
  if (name === 'help') return say(io, io.args[0] === undefined ? overview() : await helpOf(io.args[0]))
  const { load } = find(name)
  const options = io.args.slice(0, io.args.indexOf('--') < 0 ? undefined : io.args.indexOf('--'))
  if (options.includes('--help') || options.includes('-h')) return say(io, await helpOf(name))
  return (await load()).run(io)
}

function say(io: CommandIo, text: string): number {
  print(io.stdout, text)
  return EXIT.ok
}

function find(name: string): Entry {
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (entry) return entry
  const [close] = nearest(name, Object.keys(COMMANDS), 1)
  throw usageFault(`There is no command "${name}".${close ? ` Did you mean "${close}"?` : ''}`)
}

function overview(): string {
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(13)} ${summary}`)
  return `Usage: callplane <command> [options]

${lines.join('\n')}
  help          Explains a command: callplane help serve

Options of every command:
  --help        Explains the command.
  --debug       Shows stack traces; so does DEBUG=1.
  --version     Prints the version of callplane.

Start here:
  callplane serve operations.ts
  callplane ops
  callplane call v1:Calculator.Add --args '{"a":1,"b":2}'`
}

async function helpOf(name: string): Promise<string> {
  const { summary, load } = find(name)
  const { help } = await load()
  return `${summary}\n\n${help.trim()}`
}

function explain(thrown: unknown, name: string, io: CommandIo, debug: boolean): number {
  const reason = thrown instanceof Error ? thrown.message : String(thrown)
  const fault = Fault.from(thrown, `Unexpected error: ${reason}. Run with --debug to see the stack trace.`)
  // A message may quote what was typed, or what a server sent.
  print(io.stderr, plainText(`callplane: ${fault.message}`))
  if (fault.code === 'USAGE') {
    print(io.stderr, `See: callplane help${Object.hasOwn(COMMANDS, name) ? ` ${name}` : ''}`)
  }
  if (debug) print(io.stderr, stackOf(thrown))
  return exitCodeOf(fault)
}

function stackOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  return `${thrown.stack}${thrown.cause === undefined ? '' : `\ncaused by: ${stackOf(thrown.cause)}`}`
}
