/** The capacity model of docs/scale.md: measures its costs, checks its predictions here, and simulates many cells. */
import { isDeepStrictEqual } from 'node:util'
import { describeMachine, readResults, requireRun } from '../results.ts'
import { calibrate, type Measured } from '../scale/calibrate.ts'
import { busiest, capacityOf } from '../scale/capacity.ts'
import type { CellShape } from '../scale/cell.ts'
import { type Cost, type Costs, fitCosts } from '../scale/costs.ts'
import { CALLS_PER_SECOND, FAILOVER_S, NODES, RETENTION_S, shardShape, ZONES } from '../scale/hardware.ts'
import { simulateArrivals, simulateSubmitters } from '../scale/load.ts'
import { type Outage, simulateOutage } from '../scale/outage.ts'
import { loadsOf } from '../scale/routing.ts'
import { createRandom, summarise } from '../statistics.ts'
import type { Findings, Goal, Row, Settings } from './suite.ts'

/** The largest error of a prediction, as a share of the measurement. */
const ERROR = 0.25
const CORES = 2
/** Until the other process on the same machine wakes up. */
const LOOPBACK_US = 30

export async function scale(settings: Settings): Promise<Findings> {
  const measured = await calibrate(settings)
  if (!measured) return { rows: [], goals: [] }
  const costs = fitCosts(measured.levels, measured.flushUs)
  const httpUs = httpCost()
  const { rows, goals } = check(measured, costs)
  settings.say('scale: simulating cells')
  const sizes = settings.trial ? [NODES] : [1, 2, NODES, 4, 8, 16]
  const million = simulateMillion(costs, httpUs, measured.diskBytes, settings.trial)
  return {
    rows: [
      ...costRows(measured, costs, httpUs),
      ...rows,
      ...sizes.map((nodes) => cellRow(costs, nodes, httpUs)),
      ...million.rows,
      ...(settings.trial ? [] : outageRows(costs, million.shape, million.perCell, million.cells)),
    ],
    goals,
  }
}

/** A call over HTTP costs a node this much beside the engine. From the suite `sync`. */
function httpCost(): number {
  const results = readResults()
  const row = results?.rows.find(({ suite, contender }) => suite === 'sync' && contender === 'callplane')
  if (
    !results ||
    row?.cpuUs === undefined ||
    !isDeepStrictEqual(requireRun('sync', results).machine, describeMachine())
  )
    throw new Error('Run "npm run bench -- sync" first: the model needs the cost of HTTP on this machine.')
  return row.cpuUs
}

function costRows({ build, levels, checks, flushUs, diskBytes }: Measured, costs: Costs, httpUs: number): Row[] {
  const shown = ({ call, batch }: Cost, name: string) => ({ [`${name} a call`]: call, [`${name} a batch`]: batch })
  return [
    ...[...levels, ...checks]
      .toSorted((a, b) => a.submitters - b.submitters)
      .map(({ submitters, batch, nodeUs, postgresUs, kernelUs, walBytes }) => ({
        suite: 'scale costs',
        contender: `measured, ${submitters} submitters`,
        engine: build,
        figures: {
          'calls a batch': batch,
          'µs of the node': nodeUs,
          'µs of Postgres': postgresUs,
          'µs of the kernel': kernelUs,
          'bytes of WAL': Math.round(walBytes),
        },
      })),
    {
      suite: 'scale costs',
      contender: 'fitted',
      engine: build,
      figures: {
        ...shown(costs.node, 'µs of the node'),
        ...shown(costs.postgres, 'µs of Postgres'),
        ...shown(costs.kernel, 'µs of the kernel'),
        ...shown(costs.wal, 'bytes of WAL'),
        'µs a flush': flushUs,
        'bytes on disk a call': Math.round(diskBytes),
        'µs of HTTP': httpUs,
      },
    },
  ]
}

/** Predicts what was measured here at numbers of submitters that the costs were not fitted to. */
function check({ build, checks, levels, flushUs, paced }: Measured, costs: Costs): Findings {
  const shape: CellShape = {
    nodes: 1,
    postgresCores: CORES,
    nodeCores: 'shared',
    device: { flushUs, bytesPerSecond: 1_000_000_000, standbyUs: 0 },
    networkUs: LOOPBACK_US,
    httpUs: 0,
  }
  const errors: number[] = []
  const rows: Row[] = [...levels, ...checks]
    .toSorted((a, b) => a.submitters - b.submitters)
    .map((level) => {
      const predicted = simulateSubmitters(costs, shape, level.submitters, 1)
      const isCheck = checks.includes(level)
      if (isCheck) errors.push(Math.abs(predicted.perSecond / level.perSecond - 1))
      return {
        suite: 'scale check',
        contender: `${level.submitters} submitters${isCheck ? '' : ', used to fit the costs'}`,
        engine: build,
        figures: {
          'calls/s predicted': Math.round(predicted.perSecond),
          'calls/s measured': Math.round(level.perSecond),
          'calls a batch predicted': predicted.batch,
          'calls a batch measured': level.batch,
        },
      }
    })
  const slow = simulateArrivals(costs, shape, paced.perSecond, 2, createRandom(1))
  rows.push({
    suite: 'scale check',
    contender: `${paced.perSecond} calls/s`,
    engine: build,
    figures: { 'p50 ms predicted': slow.p50Ms, 'p50 ms measured': paced.p50Ms },
  })
  const worst = Math.max(...errors)
  const goal: Goal = {
    suite: 'scale check',
    name: `calls per second at ${checks.map(({ submitters }) => submitters).join(', ')} submitters`,
    goal: `predicted within ${ERROR * 100} % of the measurement`,
    measured: `within ${(worst * 100).toFixed(0)} %, median ${(summarise(errors).median * 100).toFixed(0)} %`,
    met: worst <= ERROR,
  }
  return { rows, goals: [goal] }
}

function cellRow(costs: Costs, nodes: number, httpUs: number): Row {
  const { most, planned, atPlanned: simulated, first } = capacityOf(costs, shardShape(nodes, httpUs))
  return {
    suite: 'scale cell',
    contender: `a cell of ${nodes} ${nodes === 1 ? 'node' : 'nodes'}, first limit: ${first}`,
    figures: {
      'calls/s at most': Math.round(most),
      'calls/s planned': Math.round(planned),
      'calls a batch': simulated.batch,
      '% nodes busy': simulated.nodeBusy * 100,
      '% Postgres busy': simulated.postgresBusy * 100,
      'MB/s of WAL': simulated.walBytesPerSecond / 1e6,
      'flushes/s': Math.round(simulated.flushesPerSecond),
      'p50 ms': simulated.p50Ms,
      'p99 ms': simulated.p99Ms,
    },
  }
}

const CALLERS = 200_000

function simulateMillion(costs: Costs, httpUs: number, diskBytes: number, trial: boolean) {
  const shape = shardShape(NODES, httpUs)
  const { planned: perCell } = capacityOf(costs, shape)
  const total = trial ? perCell * 2 : CALLS_PER_SECOND
  // Even callers spread unevenly over slots, so the fullest cell decides.
  let cells = Math.ceil(total / perCell)
  while (Math.max(...loadsOf(cells, CALLERS, 0, total).loads) > perCell) cells++
  const rows: Row[] = []
  for (const [name, exponent] of [
    ['equal callers', 0],
    ['callers by Zipf with exponent 0.8', 0.8],
    ['callers by Zipf with exponent 1', 1],
  ] as const) {
    const { loads, largestCaller } = loadsOf(cells, CALLERS, exponent, total)
    const fullest = Math.max(...loads)
    const over = loads.filter((load) => load > perCell)
    const hottest = simulateArrivals(costs, shape, Math.min(fullest, 3 * perCell), 0.5, createRandom(3))
    rows.push({
      suite: 'scale million',
      contender: `${total.toLocaleString('en')} calls/s, ${CALLERS.toLocaleString('en')} ${name}`,
      figures: {
        cells,
        'node processes': cells * NODES,
        'GB/s of WAL in all': (hottest.walBytesPerSecond / hottest.perSecond) * total * 1e-9,
        'TB on disk for a day': (diskBytes * total * RETENTION_S) / 1e12,
        'calls/s in the fullest cell': Math.round(fullest),
        'calls/s of the largest caller': Math.round(largestCaller),
        'cells over plan': over.length,
        '% busy in the fullest cell': busiest(hottest).busy * 100,
        'p99 ms in the fullest cell': hottest.p99Ms,
      },
    })
  }
  return { rows, shape, perCell, cells }
}

function outageRows(costs: Costs, shape: CellShape, perCell: number, cells: number): Row[] {
  const each = (name: string, outage: Outage, affected: number): Row => {
    const result = simulateOutage(costs, shape, perCell, outage)
    const offered = perCell * cells * Math.max(outage.databaseS, 1)
    return {
      suite: 'scale outages',
      contender: name,
      figures: {
        'cells affected': affected,
        '% of all calls refused at first': ((result.refused * affected) / offered) * 100,
        'calls waiting in such a cell at most': result.peakBacklog,
        's until they are done': result.recoveryS,
        'p99 ms in such a cell': result.p99Ms,
        'calls taken over': result.takenOver * affected,
      },
    }
  }
  const lost = Math.ceil(cells / ZONES)
  const failover = { databaseS: FAILOVER_S, nodes: 0 }
  return [
    each(`a shard fails over in ${FAILOVER_S} s`, failover, 1),
    each('a node dies', { databaseS: 0, nodes: 1 }, 1),
    each('a zone is lost: cells whose primary was there', { databaseS: FAILOVER_S, nodes: 1 }, lost),
    each('a zone is lost: the other cells', { databaseS: 0, nodes: 1 }, cells - lost),
  ]
}
