/** Adds up the metrics of several processes in Prometheus' text format, as `metrics.ts` writes it. */
import { formatNumber } from './prometheus.ts'

interface Metric {
  /** `# HELP` and `# TYPE`. */
  about: string[]
  /** Values by name and labels. */
  series: Map<string, number>
}

/** Takes the largest value of the metrics in `notAdded`, and the sum of all others. */
export function mergeMetrics(texts: readonly string[], notAdded: ReadonlySet<string>): string {
  const merged = new Map<string, Metric>()
  for (const text of texts) {
    for (const [name, { about, series }] of parse(text)) {
      const into = merged.get(name) ?? { about, series: new Map<string, number>() }
      merged.set(name, into)
      for (const [key, value] of series) {
        const before = into.series.get(key)
        if (before === undefined) into.series.set(key, value)
        else into.series.set(key, notAdded.has(name) ? Math.max(before, value) : before + value)
      }
    }
  }
  return write(merged)
}

/** Removes gauges, which describe only the current moment. */
export function countersIn(text: string): string {
  return write(new Map([...parse(text)].filter(([, { about }]) => !about.some((line) => line.endsWith(' gauge')))))
}

function parse(text: string): Map<string, Metric> {
  const metrics = new Map<string, Metric>()
  let current: Metric | undefined
  for (const line of text.split('\n')) {
    if (line.startsWith('# ')) {
      const name = line.split(' ', 3)[2] as string
      current = metrics.get(name) ?? { about: [], series: new Map() }
      metrics.set(name, current)
      current.about.push(line)
    } else if (line !== '') {
      // Labels may contain spaces; a value does not.
      const at = line.lastIndexOf(' ')
      current?.series.set(line.slice(0, at), Number(line.slice(at + 1)))
    }
  }
  return metrics
}

function write(metrics: ReadonlyMap<string, Metric>): string {
  const lines = [...metrics.values()].flatMap(({ about, series }) => [
    ...about,
    ...[...series].map(([key, value]) => `${key} ${formatNumber(value)}`),
  ])
  return [...lines, ''].join('\n')
}
