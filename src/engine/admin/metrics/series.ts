/** The load of a server over time, from the samples of all of its nodes. */
import { Fault } from '../../../core/fault.ts'
import { operation } from '../../../core/operation/define.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { SCOPES } from '../../../core/operation/scopes.ts'
import type { Clock } from '../../../core/ports/runtime.ts'
import { addEnded, COARSE, type Ended, FINE, type Sample, type Samples } from '../../metrics/samples.ts'
import { record, TEXT, TIME, timeOf, timeText } from '../shapes.ts'
import { requireServerView, type WholeServerParts } from '../whole-server.ts'

export interface SeriesParts extends WholeServerParts {
  samples: Pick<Samples, 'read'>
  /** The duration below which this share of the calls ended. */
  quantileMs(buckets: readonly number[], share: number): number
  clock: Clock
}

const OF_CALLS = ['calls', 'errors', 'p50Ms', 'p99Ms'] as const
const OF_ALL_NODES = ['queued', 'running'] as const
const OF_EACH_NODE = ['loopDelayMs', 'memoryBytes'] as const
export const NAMES = [...OF_CALLS, ...OF_ALL_NODES, ...OF_EACH_NODE] as const

type Name = (typeof NAMES)[number]

interface SeriesArgs {
  names?: Name[]
  operation?: string
  from?: string
  to?: string
  stepSeconds?: number
}

interface Series {
  name: Name
  operation?: string
  node?: number
  /** `null` where no node has a sample. */
  values: (number | null)[]
}

interface SeriesResult {
  /** The start of each step. */
  times: string[]
  series: Series[]
}

const MOST_POINTS = 1_500
const HOUR_MS = 3_600_000

export function getSeries(parts: () => SeriesParts) {
  return operation('v1:callplane.metrics.series', {
    description: 'Returns the load over time: calls, errors, durations, queue, memory and event loop delay.',
    internal: true,
    scopes: [SCOPES.read],
    args: jsonSchema<SeriesArgs>(
      record({
        names: { type: 'array', minItems: 1, uniqueItems: true, items: { enum: [...NAMES] } },
        operation: TEXT,
        from: TIME,
        to: TIME,
        stepSeconds: { type: 'integer', minimum: 10, maximum: 86_400 },
      }),
    ),
    result: jsonSchema<SeriesResult>({ type: 'object', required: ['times', 'series'] }),
    run(args, { caller }) {
      requireServerView(parts(), caller)
      return seriesOf(parts(), args)
    },
  })
}

async function seriesOf({ samples, clock, quantileMs }: SeriesParts, args: SeriesArgs): Promise<SeriesResult> {
  const to = args.to === undefined ? clock.now() : timeOf(args.to)
  const since = args.from === undefined ? to - HOUR_MS : timeOf(args.from)
  const isOld = since < clock.now() - FINE.keepMs
  const tier = isOld || (args.stepSeconds ?? 0) * 1000 >= COARSE.stepMs ? COARSE : FINE
  const wantedMs = (args.stepSeconds ?? tier.stepMs / 1000) * 1000
  const stepMs = Math.ceil(Math.max(wantedMs, tier.stepMs) / tier.stepMs) * tier.stepMs
  const from = Math.floor(since / stepMs) * stepMs
  const points = Math.max(0, Math.ceil((to - from) / stepMs))
  if (points > MOST_POINTS) {
    throw new Fault('invalid-input', `This would be ${points} points, more than ${MOST_POINTS}. Use longer steps.`)
  }
  const steps = Array.from({ length: points }, (): Sample[] => [])
  for (const sample of await samples.read(tier, from, to)) steps[Math.floor((sample.at - from) / stepMs)]?.push(sample)
  const names: readonly Name[] = args.names ?? NAMES
  const nodes = [...new Set(steps.flat().map(({ node }) => node))].sort((one, other) => one - other)
  return {
    times: steps.map((_, at) => timeText(from + at * stepMs)),
    series: names.flatMap((name) => namedSeries(name, steps, nodes, args.operation, quantileMs)),
  }
}

function namedSeries(
  name: Name,
  steps: readonly Sample[][],
  nodes: readonly number[],
  of: string | undefined,
  quantileMs: SeriesParts['quantileMs'],
): Series[] {
  if (isOneOf(OF_EACH_NODE, name)) {
    return nodes.map((node) => ({ name, node, values: steps.map((step) => highest(ofNode(step, node), name)) }))
  }
  // The queue is that of the whole store, as every node counts it.
  if (name === 'queued') return [{ name, values: steps.map((step) => highest(step, name)) }]
  if (name === 'running') return [{ name, values: steps.map((step) => sumOfNodes(step)) }]
  const values = steps.map((step) => {
    if (step.length === 0) return null
    const ended = endedIn(step, of)
    if (name === 'calls' || name === 'errors') return ended?.[name] ?? 0
    return ended && ended.calls > 0 ? quantileMs(ended.buckets, name === 'p50Ms' ? 0.5 : 0.99) : null
  })
  return [{ name, ...(of !== undefined && { operation: of }), values }]
}

/** The calls of one operation, or of all. */
function endedIn(step: readonly Sample[], of: string | undefined): Ended | undefined {
  let sum: Ended | undefined
  for (const { operations } of step) {
    for (const [name, ended] of Object.entries(operations)) {
      if (of === undefined || name === of) sum = addEnded(sum, ended)
    }
  }
  return sum
}

function ofNode(step: readonly Sample[], node: number): Sample[] {
  return step.filter((sample) => sample.node === node)
}

function highest(samples: readonly Sample[], name: 'queued' | 'loopDelayMs' | 'memoryBytes'): number | null {
  return samples.length === 0 ? null : Math.max(...samples.map((sample) => sample[name]))
}

/** A long step has several samples of each node. */
function sumOfNodes(step: readonly Sample[]): number | null {
  if (step.length === 0) return null
  const most = new Map<number, number>()
  for (const { node, running } of step) most.set(node, Math.max(running, most.get(node) ?? 0))
  return [...most.values()].reduce((sum, running) => sum + running, 0)
}

function isOneOf<T extends string>(names: readonly T[], name: string): name is T {
  return (names as readonly string[]).includes(name)
}
