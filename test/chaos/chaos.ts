/**
 * One chaos run: starts a cluster, puts load on it, disturbs it by a seeded schedule, heals it, waits for the calls to
 * end, and checks everything. It uses no test runner, so that an hour of it can run by itself.
 */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { seeded } from '../crash/wishes.ts'
import type { EffectLine } from './check/attempts.ts'
import { problemsInEvidence } from './check/check.ts'
import { checkRows } from './check/rows.ts'
import { readTrail, trailProblems } from './check/trail.ts'
import { type Cluster, startCluster } from './cluster/cluster.ts'
import type { Defect } from './defects.ts'
import { disturb } from './disturb.ts'
import { FAULTS, type FaultKind, type FaultName } from './faults.ts'
import { History, isEnd } from './history.ts'
import { connectBrokers } from './load/brokers.ts'
import { decideAll } from './load/decider.ts'
import { poll } from './load/http-calls.ts'
import { applyLoad } from './load/load.ts'
import { Site } from './load/site.ts'
import { type PlannedFault, planFaults } from './schedule.ts'

export interface ChaosOptions {
  /** How long it is disturbed. */
  minutes: number
  faults: number
  /** The faults themselves, instead of drawn ones. */
  plan?: readonly PlannedFault[]
  /** How long the load goes on after the last fault. */
  quietMs?: number
  seed: number
  nodes?: number
  perSecond?: number
  withBrokers?: boolean
  only?: readonly FaultName[]
  /** A folder with another version of the program, for a rolling upgrade. */
  other?: string
  defect?: Defect
  say(line: string): void
}

export interface ChaosReport {
  operations: Record<string, number>
  faults: Record<string, number>
  kills: number
  failovers: number
  calls: number
  /** Tables of the store that have calls. */
  generations: number
  /** Tables that were dropped in the course of the run. */
  dropped: number
  effects: number
  repeatedAttempts: number
  findings: readonly string[]
  /** Logs of the nodes, the history and the effects. */
  folder: string
}

/** A killed node's calls go on within lease + 10 s, and a slow machine needs its time. */
const END_WITHIN_MS = 60_000
/** Recovery, then load without faults: waits and leases must work as if nothing had happened. */
const QUIET_MS = 22_000
/** So many calls that have ended are polled once more at the end. The rest is compared by SQL. */
const LAST_POLLS = 3_000

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, say, defect } = options
  const folder = await mkdtemp(join(tmpdir(), 'callplane-chaos-'))
  const history = new History(join(folder, 'history.jsonl'))
  const chance = seeded(seed + 1)
  await using cluster = await startCluster({
    folder,
    nodes: options.nodes ?? 3,
    withBrokers: options.withBrokers ?? true,
    diskMegabytes: 2_000,
    imports: defect?.imports ?? [],
    env: defect?.env ?? {},
    ...(defect?.standbyLagsMs !== undefined && { standbyLagsMs: defect.standbyLagsMs }),
    chance: () => chance(1_000) / 1_000,
    say,
    find: (finding) => history.find(finding),
  })
  say(`${cluster.nodes.length} nodes are up, evidence in ${folder}`)
  const { faults, trail } = await besiege(cluster, history, options)
  const effects = await readEffects(cluster.effectsFile)
  const stored = await checkRows(cluster.database, history.calls)
  const evidence = { ...pick(history), effects, faults }
  const findings = [
    ...new Set([
      ...history.findings,
      ...problemsInEvidence(evidence),
      ...stored.problems,
      ...trailProblems(trail, history.calls),
    ]),
  ]
  for (const finding of findings) history.write('found', { finding })
  await history.close()
  const report: ChaosReport = {
    operations: Object.fromEntries([...history.operations].sort()),
    faults: countBy(faults.map(({ name }) => name)),
    kills: faults.filter(({ name }) => (FAULTS[name] as FaultKind).isKill).length,
    failovers: cluster.database.failovers,
    calls: history.calls.length,
    generations: stored.tables,
    dropped: stored.dropped,
    effects: effects.filter(({ step }) => step === 'effect').length,
    repeatedAttempts: effects.filter(({ step, attempt }) => step === 'begin' && attempt > 1).length,
    findings,
    folder,
  }
  await writeFile(join(folder, 'report.json'), JSON.stringify({ seed, ...report }, null, 2))
  return report
}

async function besiege(cluster: Cluster, history: History, options: ChaosOptions) {
  const { minutes, faults: count, seed, only, other, say, perSecond = 15, quietMs = QUIET_MS } = options
  const site = new Site({ urls: cluster.nodes.map(({ url }) => url), history, random: seeded(seed + 2) })
  cluster.tool.site = site
  const { mqtt, kafka } = cluster
  await using brokers = await connectBrokers(site, { ...(mqtt && { mqtt }), ...(kafka && { kafka }) })
  const drawn = { faults: count, ms: minutes * 60_000, random: seeded(seed), ...(only && { only }) }
  const plan = options.plan ?? planFaults(drawn)
  const stopping = new AbortController()
  const has = { mqtt: mqtt !== undefined, kafka: kafka !== undefined }
  const loading = applyLoad({ site, brokers, has, perSecond, signal: stopping.signal })
  const deciding = decideAll(site)
  const disturbing = Promise.all([
    disturb({ cluster, plan, other, history, say }),
    pause(minutes * 60_000, undefined, { signal: stopping.signal }),
  ])
  // If the load fails, the rest makes no sense.
  const [faults] = await Promise.race([disturbing, loading.then(() => disturbing)])
  await heal(cluster)
  say(`${faults.length} faults are over; waiting for ${history.calls.length} calls to end`)
  await pause(quietMs)
  stopping.abort()
  const deadline = setTimeout(() => {
    site.isOver = true
  }, END_WITHIN_MS)
  await loading
  clearTimeout(deadline)
  await lookOnceMore(site)
  // Ends that another node owes are published within ten seconds.
  await untilPublished(history)
  site.isOver = true
  await deciding
  return { faults, trail: await readTrail(site) }
}

async function heal({ nodes, s3 }: Cluster): Promise<void> {
  s3.heal()
  await Promise.all(
    nodes.map(async (node) => {
      for (const link of node.links) {
        link.silence(false)
        link.loseAnswers(false)
        link.delay(0)
      }
      node.continue()
      await node.start()
    }),
  )
}

/** Every call that has not ended as far as its client knows, and a part of those that have. */
async function lookOnceMore(site: Site): Promise<void> {
  const { calls } = site.history
  const polled = calls.filter(({ kind }) => kind !== 'grant')
  const open = polled.filter(({ sightings }) => !sightings.some(isEnd))
  const ended = polled.filter(({ sightings }) => sightings.some(isEnd))
  const every = Math.max(1, Math.floor(ended.length / LAST_POLLS))
  const last = [...open, ...ended.filter((_, index) => index % every === 0)]
  for (let from = 0; from < last.length; from += 50) {
    await Promise.all(
      last.slice(from, from + 50).map(async (call) => {
        for (let tries = 0; tries < 5 && !(await poll(site, call, 0)); tries++) await site.rest(200)
      }),
    )
  }
}

async function untilPublished({ calls }: History): Promise<void> {
  const isOwed = ({ kind, pushed, sightings }: History['calls'][number]) =>
    (kind === 'mqtt' || kind === 'kafka') && sightings.some(isEnd) && !pushed.some(isEnd)
  for (let waited = 0; waited < 100 && calls.some(isOwed); waited++) await pause(200)
}

function pick({ calls, streams, decisions, approvalsAsked, silences }: History) {
  return { calls, streams, decisions, approvalsAsked, silences }
}

async function readEffects(file: string): Promise<EffectLine[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as EffectLine)
}

function countBy(names: readonly string[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]).sort())
}
