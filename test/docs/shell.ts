/** Reads the shell blocks of the pages and checks that each command exists. */
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { run } from '../../src/cli/run.ts'

/** Returns the commands of a block as lists of words. Comments, pipes and redirections end a command. */
export function commandsIn(code: string): string[][] {
  const commands: string[][] = [[]]
  const tokens = code
    .replaceAll('\\\n', ' ')
    .matchAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"|(?<=^|\s)#[^\n]*|(\n|&&|\|\|?|;)|([^\s'"|;&]+)/g)
  for (const [whole, single, double, end, word] of tokens) {
    if (end !== undefined) commands.push([])
    else if (single === undefined && double === undefined && whole.startsWith('#')) continue
    else commands.at(-1)?.push(single ?? double ?? word ?? whole)
  }
  return commands.filter((words) => words.length > 0).map((words) => beforeRedirection(words))
}

function beforeRedirection(words: string[]): string[] {
  const at = words.findIndex((word) => word === '<' || word === '>')
  return at === -1 ? words : words.slice(0, at)
}

/** Programs that are not ours. A reader has them, or the page says how to install them. */
const FOREIGN = new Set(['curl', 'export', 'clang', 'cd', 'git', 'sqlite3', 'touch'])

/** Returns `undefined` if the command exists and has these flags. */
export async function problemWith(words: readonly string[], scripts: readonly string[]): Promise<string | undefined> {
  const [program = '', ...rest] = words
  if (FOREIGN.has(program)) return undefined
  if (program === 'callplane') return problemWithCallplane(rest)
  // `alias name='command …'` parses as the words alias, name= and the command.
  if (program === 'alias') return problemWith((rest[1] ?? '').split(' '), scripts)
  if (program === 'npx') return rest[0] === 'callplane' ? problemWithCallplane(rest.slice(1)) : undefined
  if (program === 'npm') return problemWithNpm(rest, scripts)
  return `${program} is no known program`
}

async function problemWithNpm(words: readonly string[], scripts: readonly string[]): Promise<string | undefined> {
  const [command = '', ...rest] = words
  if (['ci', 'i', 'install'].includes(command)) return undefined
  if (command === 'start' || command === 'test') return scripts.includes(command) ? undefined : `no script ${command}`
  if (command !== 'run') return `npm ${command} is no known command`
  const [script = ''] = rest.filter((word) => !word.startsWith('-'))
  if (!scripts.includes(script)) return `package.json has no script ${script}`
  const own = rest.indexOf('--')
  return script === 'callplane' && own !== -1 ? problemWithCallplane(rest.slice(own + 1)) : undefined
}

/** The help of a command names every flag it takes. */
async function problemWithCallplane(words: readonly string[]): Promise<string | undefined> {
  const [command, ...rest] = words
  if (command === undefined || command === 'help') return undefined
  const help = await helpOf(command)
  if (help === undefined) return `callplane has no command ${command}`
  const flags = rest.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split('=', 1)[0] as string)
  const unknown = flags.find((flag) => !new RegExp(`(?<![\\w-])${flag}(?![\\w-])`).test(help))
  return unknown && `callplane ${command} has no flag ${unknown}`
}

async function helpOf(command: string): Promise<string | undefined> {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const { signal } = new AbortController()
  const code = await run({ args: ['help', command], stdin: Readable.from([]), stdout, stderr, env: {}, signal })
  stdout.end()
  return code === 0 ? text(stdout) : undefined
}
