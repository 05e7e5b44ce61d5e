/**
 * `npm run bench -- by-hand`: compares the CPU time of hand-written code with that of the libraries for it. The figures
 * are for docs/decisions/0015-by-hand.md; nothing is written to results.json.
 */
import { installedVersion } from '../installed.ts'
import { buckets } from './buckets.ts'
import { compare } from './compare.ts'
import { grpc } from './grpc.ts'
import { metricsCount, metricsText } from './metrics.ts'
import { multipartLarge, multipartSmall } from './multipart.ts'

const PAIRS = [multipartSmall, multipartLarge, buckets, grpc, metricsCount, metricsText]

export async function compareByHand(quick: boolean): Promise<void> {
  console.log('| piece | one operation | ours, µs | library, µs | library | library / ours |')
  console.log('|---|---|---|---|---|---|')
  for (const pair of PAIRS) {
    const { name, operation, library } = pair
    const { oursUs, theirsUs } = await compare(pair, quick ? 20 : 200)
    const ratio = (theirsUs / oursUs).toFixed(2)
    const cells = [name, operation, inUs(oursUs), inUs(theirsUs), `${library} ${installedVersion(library)}`, ratio]
    console.log(`| ${cells.join(' | ')} |`)
  }
}

function inUs(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
