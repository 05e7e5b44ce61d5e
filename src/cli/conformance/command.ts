/** `callplane conformance`: tests any server over HTTP against the requirements of a protocol. */
import { writeFile } from 'node:fs/promises'
import { Fault } from '../../core/fault.ts'
import {
  type ConformanceProtocol,
  conformanceCases,
  discover,
  findingsOf,
  judge,
  type Level,
  NeedsToken,
  type Parts,
  type Target,
  Unmet,
} from '../../testing/conformance/index.ts'
import { parseArguments } from '../arguments.ts'
import { REMOTE_OPTIONS, Remote } from '../client/remote.ts'
import { type Command, type CommandIo, EXIT, print, usageFault } from '../command.ts'
import { readExamples } from './args-file.ts'
import { renderJunit } from './junit.ts'
import { createPaint, type Report, renderFinding, renderHead, renderSummary, renderVerdict } from './report.ts'

/** A path that every server of the protocol serves. */
const PROBES: Readonly<Record<ConformanceProtocol, string>> = {
  opencall: '/.well-known/ops',
  oxp: '/health',
  otc: '/health',
  rest: '/tools',
}

const PARTS: readonly (keyof Parts)[] = [
  'sync',
  'second',
  'validated',
  'lenient',
  'failing',
  'async',
  'stream',
  'chunked',
  'file',
  'upload',
  'effect',
  'deprecated',
  'removed',
  'successor',
  'versions',
]

export const conformance: Command = {
  help: `
Usage: callplane conformance <url> [options]

The checks call operations that the server lists, with arguments made from their schemas. Operations with side effects
are not called unless you allow it. A check is a MUST, a SHOULD or a MAY, as the specification words it; only
a MUST that is not met fails the run.

Options:
  --protocol <name>      ${Object.keys(PROBES).join(', ')} (default: opencall).
  --token <token>        A bearer token that may call the operations. Also CALLPLANE_TOKEN.
  --other-token <token>  A token of another caller, to check that callers cannot see each other's calls. Also
                         CALLPLANE_OTHER_TOKEN.
  --args <file>          JSON: { "v1:orders.get": { "args": { "orderId": "42" } } }. The checks send these arguments
                         instead of generated ones, and may call the named operations even if they have side effects.
  --side-effects         Also calls operations with side effects.
  --operation <part=op>  Names the operation for a part: ${PARTS.slice(0, 7).join(', ')},
                         ${PARTS.slice(7).join(', ')}. Repeatable.
  --strict               An unmet SHOULD also fails the run.
  --verbose              Prints a line for every check.
  --json <file>          Writes the report as JSON; "-" prints it instead of the text.
  --junit <file>         Writes the report as JUnit XML.

Exit codes: 0 every MUST is met, 1 one is not, 2 wrong usage, 3 no such server responds, 5 the server needs a token.

Examples:
  callplane conformance http://127.0.0.1:4747
  callplane conformance https://api.example.com --args calls.json --junit conformance.xml
  callplane conformance http://127.0.0.1:4747/otc --protocol otc --side-effects`,
  async run(io) {
    const { values, positionals } = parseArguments(
      io.args,
      {
        ...REMOTE_OPTIONS,
        'other-token': { type: 'string' },
        args: { type: 'string' },
        'side-effects': { type: 'boolean', default: false },
        protocol: { type: 'string', default: 'opencall' },
        operation: { type: 'string', multiple: true, default: [] },
        strict: { type: 'boolean', default: false },
        verbose: { type: 'boolean', default: false },
        json: { type: 'string' },
        junit: { type: 'string' },
      },
      1,
    )
    const protocol = parseProtocol(values.protocol)
    const url = positionals[0] ?? values.url
    if (url === undefined)
      throw usageFault('Pass the address of the server: callplane conformance http://127.0.0.1:4747')
    const operations = parseParts(values.operation)
    const examples = values.args === undefined ? {} : await readExamples(values.args)
    const remote = new Remote({ ...values, url }, io)
    // Without a server every check would fail with a message of its own.
    await remote.fetch(PROBES[protocol]).then((response) => response.body?.cancel())
    const token = values.token ?? (io.env.CALLPLANE_TOKEN || undefined)
    const otherToken = values['other-token'] ?? (io.env.CALLPLANE_OTHER_TOKEN || undefined)
    const target = {
      url: remote.url,
      operations,
      examples,
      ...(token !== undefined && { token }),
      ...(otherToken !== undefined && { otherToken }),
    }
    const quiet = values.json === '-'
    const report = await examine(
      protocol,
      target,
      values['side-effects'],
      io,
      quiet ? 'none' : values.verbose ? 'all' : 'some',
    )

    const fails = (level: Level) => level === 'must' || (values.strict && level === 'should')
    if (quiet) print(io.stdout, renderJson(report, fails))
    else if (values.json !== undefined) await write(values.json, `${renderJson(report, fails)}\n`)
    if (values.junit !== undefined) await write(values.junit, renderJunit(report, fails))
    return report.findings.some(({ level }) => fails(level)) ? EXIT.failed : EXIT.ok
  },
}

async function examine(
  protocol: ConformanceProtocol,
  target: Target,
  sideEffects: boolean,
  { stdout, signal, env }: CommandIo,
  shown: 'none' | 'some' | 'all',
): Promise<Report> {
  const paint = createPaint(stdout.isTTY === true && !env.NO_COLOR)
  const discovery = await discover(protocol, target, { sideEffects }).catch((thrown: unknown) => {
    throw unusable(thrown, target.url)
  })
  if (shown !== 'none') print(stdout, `${renderHead({ protocol, url: target.url, discovery }, paint)}\n`)
  const found: Target = { ...target, ...discovery }
  const verdicts = await judge(conformanceCases(protocol), found, {
    signal,
    ...(shown === 'all' && { onVerdict: (verdict) => print(stdout, renderVerdict(verdict, paint)) }),
  })
  const report = { protocol, url: target.url, discovery, verdicts, findings: findingsOf(verdicts) }
  if (shown === 'none') return report
  if (shown === 'all') print(stdout, '')
  for (const finding of report.findings) print(stdout, `${renderFinding(finding, paint)}\n`)
  print(stdout, renderSummary(report, paint))
  return report
}

/** Without a valid token or a readable registry, every check would fail for the same reason, so the run stops here. */
function unusable(thrown: unknown, url: string): unknown {
  if (thrown instanceof NeedsToken) {
    const next = thrown.hadToken ? 'Pass one that it accepts' : 'Pass one'
    return new Fault('unauthenticated', `${thrown.message} ${next} with --token or CALLPLANE_TOKEN.`, {
      code: 'NEEDS_TOKEN',
    })
  }
  if (!(thrown instanceof Unmet)) return thrown
  return new Fault('upstream', `${url} cannot be tested: ${thrown.message}`, {
    code: 'NOT_THIS_PROTOCOL',
    cause: thrown,
  })
}

function renderJson(
  { protocol, url, discovery, verdicts, findings }: Report,
  fails: (level: Level) => boolean,
): string {
  const { operations, called, leftOut } = discovery
  const conforms = !findings.some(({ level }) => fails(level))
  return JSON.stringify({ protocol, url, conforms, findings, checks: verdicts, operations, called, leftOut }, null, 2)
}

async function write(file: string, text: string): Promise<void> {
  await writeFile(file, text).catch((thrown: NodeJS.ErrnoException) => {
    throw usageFault(`Cannot write ${file}: ${thrown.code ?? thrown.message}.`, thrown)
  })
}

function parseProtocol(text: string): ConformanceProtocol {
  const names = Object.keys(PROBES) as ConformanceProtocol[]
  const found = names.find((name) => name === text)
  if (found) return found
  throw usageFault(`There are no checks for "${text}". Use one of ${names.join(', ')}.`)
}

function parseParts(parts: readonly string[]): NonNullable<Target['operations']> {
  return Object.fromEntries(
    parts.map((text) => {
      const [, part, op] = /^(\w+)=(.+)$/.exec(text) ?? []
      if (part === undefined || op === undefined)
        throw usageFault(`--operation must have the form sync=v1:Math.Plus, not "${text}".`)
      if (!PARTS.some((each) => each === part))
        throw usageFault(`There is no part "${part}". Use one of ${PARTS.join(', ')}.`)
      return [part, op]
    }),
  )
}
