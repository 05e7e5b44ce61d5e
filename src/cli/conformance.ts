/** `callplane conformance`: judges any server from outside, case by case. */
import {
  type ConformanceCase,
  type ConformanceProtocol,
  conformanceCases,
  Skip,
  type Target,
} from '../testing/conformance/index.ts'
import { parseArguments } from './arguments.ts'
import { type Command, type CommandIo, EXIT, print, usageFault } from './command.ts'
import { REMOTE_OPTIONS, Remote } from './remote.ts'
import { plainText } from './terminal-text.ts'

interface Verdict {
  id: string
  title: string
  requirements: readonly string[]
  outcome: 'met' | 'unmet' | 'skipped'
  reason?: string
}

/** Where a server of each protocol answers, if there is one. */
const PROBES: Readonly<Record<ConformanceProtocol, string>> = {
  opencall: '/.well-known/ops',
  oxp: '/health',
  otc: '/health',
  rest: '/tools',
}

const MARKS: Readonly<Record<Verdict['outcome'], string>> = { met: '✓', unmet: '✗', skipped: '–' }

export const conformance: Command = {
  help: `
Usage: callplane conformance <url> [options]

The cases call operations that behave as those of the quickstart do (examples/quickstart). Where yours are called
something else, say which plays which part. A case that cannot be judged on a server is skipped, with the reason.

Options:
  --operation <part=op>  Who plays add, deprecated, removed, successor, report, chunked, describe, draw, note, ring or
                         versions, as the protocol names it (v1:Math.Plus, Math.Plus, Math_Plus); again for each.
  --protocol <name>      ${Object.keys(PROBES).join(', ')}; opencall unless given.
  --token <token>        A bearer token that may call all of them. Also CALLPLANE_TOKEN.
  --json                 Prints the verdicts as JSON.

Exit codes: 0 nothing is unmet, 1 something is, 3 no server answers.

Examples:
  callplane conformance http://127.0.0.1:4747
  callplane conformance http://127.0.0.1:4747/otc --protocol otc
  callplane conformance https://api.example.com --operation add=v1:Math.Plus`,
  async run(io) {
    const { values, positionals } = parseArguments(
      io.args,
      {
        ...REMOTE_OPTIONS,
        protocol: { type: 'string', default: 'opencall' },
        operation: { type: 'string', multiple: true, default: [] },
        json: { type: 'boolean', default: false },
      },
      1,
    )
    const protocol = parseProtocol(values.protocol)
    const url = positionals[0] ?? values.url
    if (url === undefined) throw usageFault('Name the server: callplane conformance http://127.0.0.1:4747')
    const token = values.token ?? (io.env.CALLPLANE_TOKEN || undefined)
    const remote = new Remote({ ...values, url }, io)
    // Without a server every case would fail, each in its own words.
    await remote.fetch(PROBES[protocol]).then((response) => response.body?.cancel())
    const target = {
      url: remote.url,
      operations: parseParts(values.operation),
      ...(token !== undefined && { token }),
    }
    const verdicts = await judge(conformanceCases(protocol), target, io, values.json ? undefined : printVerdict)
    print(io.stdout, values.json ? JSON.stringify(verdicts, null, 2) : summary(verdicts))
    return verdicts.some(({ outcome }) => outcome === 'unmet') ? EXIT.failed : EXIT.ok
  },
}

function parseProtocol(text: string): ConformanceProtocol {
  const names = Object.keys(PROBES) as ConformanceProtocol[]
  const found = names.find((name) => name === text)
  if (found) return found
  throw usageFault(`There are no cases for "${text}", only for ${names.join(', ')}.`)
}

function parseParts(parts: readonly string[]): NonNullable<Target['operations']> {
  return Object.fromEntries(
    parts.map((text) => {
      const [, part, op] = /^(\w+)=(.+)$/.exec(text) ?? []
      if (part === undefined || op === undefined)
        throw usageFault(`--operation is written as add=v1:Math.Plus, not "${text}".`)
      return [part, op]
    }),
  )
}

async function judge(
  cases: readonly ConformanceCase[],
  target: Target,
  io: CommandIo,
  report: ((verdict: Verdict, io: CommandIo) => void) | undefined,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  for (const one of cases) {
    io.signal.throwIfAborted()
    const verdict = await judgeOne(one, target)
    verdicts.push(verdict)
    report?.(verdict, io)
  }
  return verdicts
}

async function judgeOne({ id, title, requirements, run }: ConformanceCase, target: Target): Promise<Verdict> {
  const about = { id, title, requirements }
  try {
    await run(target)
    return { ...about, outcome: 'met' }
  } catch (thrown) {
    // A case that stumbles over an answer has found something too: the server sent what nobody could read.
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    return { ...about, outcome: thrown instanceof Skip ? 'skipped' : 'unmet', reason }
  }
}

function printVerdict({ outcome, title, reason, requirements }: Verdict, { stdout }: CommandIo): void {
  print(stdout, `${MARKS[outcome]} ${title}`)
  if (reason === undefined) return
  print(stdout, plainText(`    ${reason.replaceAll('\n', '\n    ')}`))
  if (outcome === 'unmet' && requirements.length > 0) print(stdout, `    ${requirements.join(', ')}`)
}

function summary(verdicts: readonly Verdict[]): string {
  const count = (outcome: Verdict['outcome']) => verdicts.filter((verdict) => verdict.outcome === outcome).length
  return `\n${count('met')} met, ${count('unmet')} unmet, ${count('skipped')} skipped`
}
