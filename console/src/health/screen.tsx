/** How the server does: calls, errors, durations, queue and nodes, from samples of every node. */
import { useQuery } from '@tanstack/preact-query'
import { useMemo } from 'preact/hooks'
import { durationMs } from '../../../src/core/filter/terms.ts'
import type { MetricSeries, NodeView } from '../api/types.ts'
import { Empty, Failure, Skeleton } from '../design/feedback.tsx'
import { ScreenHead } from '../design/screen.tsx'
import { Segments } from '../design/tabs.tsx'
import { bytesOf, countOf, durationOf, Time } from '../design/time.tsx'
import { usePage } from '../shell/page.ts'
import { texts } from '../texts/en/health.ts'
import { Chart, type Line } from './chart.tsx'
import './health.css'
import { Wide } from '../design/wide.tsx'

type Range = keyof typeof texts.ranges
type SeriesName = keyof typeof texts.names

const REFRESH_MS = 15_000
const STEPS = 120
/** The server takes no shorter step: a node writes a sample every ten seconds. */
const SHORTEST_SECONDS = 10
const RANGES = (Object.keys(texts.ranges) as Range[]).map((name) => ({ name, label: texts.ranges[name] }))

export function HealthScreen() {
  const { server, router } = usePage()
  const place = router.place.value
  const asked = place?.name === 'health' ? (place.query.range as Range | undefined) : undefined
  const range = asked && Object.hasOwn(texts.ranges, asked) ? asked : '1h'
  const metrics = useQuery({
    queryKey: ['metrics', range],
    queryFn: ({ signal }) => {
      const length = durationMs(range) ?? 0
      const from = new Date(Date.now() - length).toISOString()
      const stepSeconds = Math.max(SHORTEST_SECONDS, Math.round(length / STEPS / 1000))
      return server.call('v1:callplane.metrics.series', { from, stepSeconds }, signal)
    },
    refetchInterval: REFRESH_MS,
  })
  const nodes = useQuery({
    queryKey: ['nodes'],
    queryFn: ({ signal }) => server.call('v1:callplane.nodes.list', {}, signal),
    refetchInterval: REFRESH_MS,
  })
  return (
    <div class="screen">
      <ScreenHead title={texts.title}>
        <Segments
          label={texts.range}
          options={RANGES}
          value={range}
          onChange={(name) => router.setQuery('health', { range: name })}
        />
      </ScreenHead>
      {nodes.data && (
        <div class="numbers">
          <Figure name={texts.open} value={countOf(nodes.data.open)} />
          <Figure name={texts.queued} value={countOf(nodes.data.queued)} />
          <Figure name={texts.nodes} value={countOf(nodes.data.nodes.length)} />
        </div>
      )}
      {metrics.error && <Failure error={metrics.error} retry={() => void metrics.refetch()} />}
      {!metrics.data && !metrics.error && <Skeleton lines={10} />}
      {metrics.data?.times.length === 0 && (
        <Empty icon="health" title={texts.none.title}>
          <p>{texts.none.text}</p>
        </Empty>
      )}
      {metrics.data && metrics.data.times.length > 0 && <Charts metrics={metrics.data} />}
      {nodes.error && <Failure error={nodes.error} retry={() => void nodes.refetch()} />}
      {nodes.data && <Nodes nodes={nodes.data.nodes} />}
    </div>
  )
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div class="figure">
      <span class="quiet">{name}</span>
      <strong class="number">{value}</strong>
    </div>
  )
}

function Charts({ metrics }: { metrics: MetricSeries }) {
  const { times } = metrics
  const lines = useMemo(() => {
    const line = (name: SeriesName, colour: string, isDashed = false): Line[] => {
      const values = joined(metrics, name)
      return values ? [{ name: nameOf(name, metrics), colour, isDashed, values }] : []
    }
    return {
      throughput: [...line('calls', '--accent'), ...line('errors', '--bad', true)],
      latency: [...line('p50Ms', '--accent'), ...line('p99Ms', '--warn', true)],
      queue: [...line('queued', '--warn', true), ...line('running', '--accent')],
      loop: line('loopDelayMs', '--accent'),
      memory: line('memoryBytes', '--accent'),
    }
  }, [metrics])
  const formats = { throughput: countOf, latency: durationOf, queue: countOf, loop: durationOf, memory: bytesOf }
  return (
    <div class="charts">
      {(Object.keys(lines) as (keyof typeof lines)[])
        .filter((name) => lines[name].length > 0)
        .map((name) => (
          <Chart key={name} title={texts.charts[name]} times={times} lines={lines[name]} format={formats[name]} />
        ))}
    </div>
  )
}

/** A count is that of one step, so its name says how long a step is. */
function nameOf(name: SeriesName, { times: [first, second] }: MetricSeries): string {
  const isCount = name === 'calls' || name === 'errors'
  if (!isCount || first === undefined || second === undefined) return texts.names[name]
  return texts.perStep(texts.names[name], durationOf(Date.parse(second) - Date.parse(first)))
}

const ADDED: readonly string[] = ['calls', 'errors', 'running', 'memoryBytes']

/** One line over all nodes: counts are added, and of durations and shared numbers the worst one counts. */
function joined({ times, series }: MetricSeries, name: string): (number | null)[] | undefined {
  const found = series.filter((one) => one.name === name && one.operation === undefined)
  if (found.length === 0) return undefined
  return times.map((_, index) => {
    const values = found.map(({ values }) => values[index]).filter((value) => typeof value === 'number')
    if (values.length === 0) return null
    return ADDED.includes(name) ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values)
  })
}

function Nodes({ nodes }: { nodes: readonly NodeView[] }) {
  return (
    <section class="panel" aria-label={texts.nodes}>
      <header>
        <h2>{texts.nodes}</h2>
      </header>
      <Wide label={texts.nodes}>
        <table class="table">
          <thead>
            <tr>
              <th>{texts.node}</th>
              <th>{texts.version}</th>
              <th>{texts.up}</th>
              <th class="number">{texts.running}</th>
              <th class="number">{texts.waiting}</th>
              <th class="number">{texts.busy}</th>
            </tr>
          </thead>
          <tbody>
            {nodes.map((node) => (
              <tr key={node.node}>
                <td>
                  {node.node} {node.host && <span class="faint">{node.host}</span>}{' '}
                  {node.draining && <span class="chip warn">{texts.draining}</span>}
                </td>
                <td>{node.version ?? '–'}</td>
                <td>{node.startedAt ? <Time at={node.startedAt} ago /> : '–'}</td>
                <td class="number">{node.running ?? '–'}</td>
                <td class="number">{node.waiting ?? '–'}</td>
                <td class="number">{node.busy === undefined ? '–' : `${Math.round(node.busy * 100)} %`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </section>
  )
}
