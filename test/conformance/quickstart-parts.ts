/** Describes the quickstart's operations, so that the suites can check their exact results. */
import { createHash } from 'node:crypto'
import type { ConformanceProtocol, Example, Parts, Target } from '../../src/testing/conformance/index.ts'

/** About 85 KB: several of the small chunks of `serveQuickstart`. */
const ROWS = 4_500
const CIRCLE = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><circle cx="20" cy="20" r="20"/></svg>'

const PARTS: Parts = {
  sync: 'v1:Calculator.Add',
  second: 'v2:Greeter.Hello',
  validated: 'v1:Doorbell.Ring',
  lenient: 'v1:Pictures.Draw',
  failing: 'v1:Doorbell.Ring',
  async: 'v1:Reports.Generate',
  stream: 'v1:Waves.Watch',
  chunked: 'v1:Orders.Export',
  file: 'v1:Pictures.Draw',
  upload: 'v1:Files.Describe',
  effect: 'v1:Notes.Add',
  deprecated: 'v1:Calculator.Sum',
  removed: 'v1:Greeter.Hello',
  successor: 'v2:Greeter.Hello',
  versions: 'v1:Text.Shout',
}

const EXAMPLES: Readonly<Record<string, Example>> = {
  'v1:Calculator.Add': { args: { a: 19.5, b: 22.5 }, result: 42, guarded: true },
  'v1:Calculator.Sum': { args: { a: 2, b: 3 }, result: 5 },
  'v2:Greeter.Hello': { args: { name: 'Ada' }, result: { greeting: 'Hello Ada' } },
  'v1:Doorbell.Ring': {
    args: { doorbell_id: 'doorbell42' },
    result: { rung: 'doorbell42' },
    fails: { args: { doorbell_id: 'nobody' }, code: 'DOORBELL_NOT_FOUND', message: 'Doorbell ID not found' },
  },
  'v1:Reports.Generate': {
    args: { month: '2026-02', steps: 3 },
    result: { month: '2026-02', rows: 300 },
    takesMs: 600,
  },
  'v1:Waves.Watch': { args: { perSecond: 50 } },
  'v1:Orders.Export': {
    args: { rows: ROWS },
    small: { rows: 3 },
    content: { mimeType: 'text/csv', sha256: sha256(csv(ROWS)) },
  },
  'v1:Files.Describe': { args: {}, digest: true },
  'v1:Pictures.Draw': { args: { radius: 20 }, content: { mimeType: 'image/svg+xml', sha256: sha256(CIRCLE) } },
  'v1:Notes.Add': { args: { text: 'the same words' }, counts: 'notes' },
  'v1:Text.Shout': { args: { text: 'hey' }, versions: ['1.0.0', '1.2.0', '2.0.0'] },
}

/**
 * Names have no version prefix in OXP and OTC, and no dots either in REST. In these protocols the validated operation is
 * `Calculator.Add`.
 */
export function quickstartParts(protocol: ConformanceProtocol): Required<Pick<Target, 'operations' | 'examples'>> {
  if (protocol === 'opencall') return { operations: PARTS, examples: EXAMPLES }
  const named = (op: string) => op.replace(/^v\d+:/, '').replace('.', protocol === 'rest' ? '_' : '.')
  const operations = Object.fromEntries(Object.entries(PARTS).map(([part, op]) => [part, named(op)]))
  const examples = Object.fromEntries(Object.entries(EXAMPLES).map(([op, example]) => [named(op), example]))
  return { operations: { ...operations, validated: named('v1:Calculator.Add') }, examples }
}

function csv(rows: number): string {
  const lines = Array.from({ length: rows }, (_, at) => `${at + 1},item-${(at + 1) % 97},${((at + 1) % 1000) / 10}\n`)
  return `order,item,price\n${lines.join('')}`
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
