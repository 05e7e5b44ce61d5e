/**
 * The cost of listing 10,000 operations: OpenCALL's registry, and MCP's tool list compared with the same bytes from
 * memory.
 */
import { fetchOnce } from '../fetch-once.ts'
import { type Host, type Load, startHost } from '../processes.ts'
import { measure, ratios, runRounds, type Sample } from '../rounds.ts'
import { relativeOf, summarise } from '../statistics.ts'
import { TOOL_LIST } from '../wires.ts'
import type { Findings, Row, Settings } from './suite.ts'

const CONNECTIONS = 8
/** A list that the server encodes again for each request costs many times as much as sending its bytes. */
const LIST_COST = 2

type Length = Pick<Settings, 'quick' | 'trial'>

export async function measureDiscovery(load: Load, many: Host, length: Length): Promise<Findings> {
  const list = await measureToolList(load, many, length)
  return { rows: [...(await measureRegistry(load, many, length)), ...list.rows], goals: list.goals }
}

async function measureRegistry(load: Load, many: Host, { quick, trial }: Length): Promise<Row[]> {
  const path = '/.well-known/ops'
  const plain = await fetchOnce(many.port, path)
  const zipped = await fetchOnce(many.port, path, { headers: { 'Accept-Encoding': 'gzip' } })
  const rows: Row[] = []
  for (const [traffic, bytes] of [
    ['registry', plain.body.length],
    ['registryGzip', zipped.body.length],
    ['registryUnchanged', 0],
  ] as const) {
    const options = { connections: CONNECTIONS, durationMs: trial ? 100 : quick ? 1_000 : 3_000, traffic }
    const { cpuUs, perSecond } = await measure(load, many, options)
    rows.push({ suite: 'operations', contender: `callplane ${traffic}`, cpuUs, perSecond, figures: { bytes } })
  }
  return rows
}

async function measureToolList(load: Load, many: Host, { quick, trial }: Length): Promise<Findings> {
  const { path, headers, body } = TOOL_LIST
  const bytes = (await fetchOnce(many.port, path, { headers, body })).body.length
  const limit = await startHost('node:http tools/list', { contender: 'prepared', answerBytes: bytes })
  try {
    const rounds = trial ? 1 : 15
    const [bare, ours] = (await runRounds(load, [limit, many], {
      rounds,
      warmUpCalls: quick ? 100 : 500,
      durationMs: quick ? 200 : 500,
      connections: CONNECTIONS,
      traffic: 'toolList',
    })) as [Sample[], Sample[]]
    const rowOf = (contender: string, own: readonly Sample[]): Row => ({
      suite: 'operations',
      contender,
      cpuUs: summarise(own.map(({ cpuUs }) => cpuUs)).median,
      perSecond: summarise(own.map(({ perSecond }) => perSecond)).median,
      ...relativeOf(ratios(own, bare)),
      limit: limit.name,
      figures: { bytes },
    })
    const cost = summarise(ratios(bare, ours))
    return {
      rows: [rowOf(limit.name, bare), rowOf('callplane tools/list', ours)],
      goals: [
        {
          suite: 'operations',
          name: 'tools/list of 10,000 operations',
          goal: `at most ${LIST_COST.toFixed(2)} of the CPU of sending the same ${bytes} bytes from memory`,
          measured: `${cost.median.toFixed(2)} (middle half ${cost.low.toFixed(2)}–${cost.high.toFixed(2)}, ${rounds} paired rounds)`,
          met: cost.median <= LIST_COST,
        },
      ],
    }
  } finally {
    await limit.stop()
  }
}
