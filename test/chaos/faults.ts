/** What can go wrong. Each fault happens, lasts for a while, and is over when its function returns. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Cluster, ROOT } from './cluster/cluster.ts'
import type { NodeProcess } from './cluster/node-process.ts'

export interface FaultKind {
  /** Faults of one place, and of one node, happen one after the other. All others may happen at the same time. */
  place: 'node' | 'database' | 'network' | 's3'
  /** Its share among all faults. */
  weight: number
  /** It ends a process at once, or fails over. */
  isKill?: true
  /** False if this run cannot do it. */
  isPossible?(cluster: Cluster, other: string | undefined): boolean
  /** `size` is from 0 up to 1: how long or how much. */
  run(cluster: Cluster, drawn: Drawn): Promise<void>
}

/** What the schedule drew for one fault. */
export interface Drawn {
  node: number
  size: number
  sign: 1 | -1
  /** The folder with another version of the program. */
  other: string | undefined
}

const LEASE_MS = 2_000

const nodeOf = ({ nodes }: Cluster, { node }: Drawn) => nodes[node % nodes.length] as NodeProcess

const onLinks = async (
  cluster: Cluster,
  drawn: Drawn,
  ms: number,
  begin: (link: Link) => void,
  end?: (link: Link) => void,
) => {
  const { links } = nodeOf(cluster, drawn)
  for (const link of links) begin(link)
  await pause(ms)
  for (const link of links) end?.(link)
}
type Link = NodeProcess['links'][number]

const restartNode = async (cluster: Cluster, drawn: Drawn, change: { clockMs?: number; root?: string }) => {
  const node = nodeOf(cluster, drawn)
  await node.kill()
  await node.start(change)
}

export const FAULTS = {
  'kill a node': {
    place: 'node',
    weight: 24,
    isKill: true,
    run: (cluster, drawn) => restartNode(cluster, drawn, {}),
  },
  'pause a node beyond its lease': {
    place: 'node',
    weight: 10,
    async run(cluster, drawn) {
      const node = nodeOf(cluster, drawn)
      node.stop()
      await pause(LEASE_MS * (1.1 + drawn.size * 4))
      node.continue()
    },
  },
  'set the clock of a node wrong': {
    place: 'node',
    weight: 4,
    run: (cluster, drawn) =>
      restartNode(cluster, drawn, { clockMs: drawn.sign * Math.round(60_000 * (1 + drawn.size * 3)) }),
  },
  'set the clock of a node right': {
    place: 'node',
    weight: 2,
    run: (cluster, drawn) => restartNode(cluster, drawn, { clockMs: 0 }),
  },
  'end a node in order': {
    place: 'node',
    weight: 3,
    async run(cluster, drawn) {
      const node = nodeOf(cluster, drawn)
      await node.kill('SIGTERM')
      await node.start()
    },
  },
  'replace a node by another version': {
    place: 'node',
    weight: 3,
    isPossible: (_cluster, other) => other !== undefined,
    run: (cluster, drawn) => restartNode(cluster, drawn, { root: (drawn.sign > 0 && drawn.other) || ROOT }),
  },
  'cut the connections of a node': {
    place: 'network',
    weight: 14,
    run: (cluster, drawn) => onLinks(cluster, drawn, 0, (link) => link.cut()),
  },
  'lose answers of the database': {
    place: 'network',
    weight: 12,
    run: (cluster, drawn) =>
      onLinks(
        cluster,
        drawn,
        20 + drawn.size * 300,
        (link) => link.loseAnswers(true),
        (link) => link.loseAnswers(false),
      ),
  },
  'delay the connections of a node': {
    place: 'network',
    weight: 7,
    run: (cluster, drawn) =>
      onLinks(
        cluster,
        drawn,
        1_000 + drawn.size * 2_000,
        (link) => link.delay(50 + drawn.size * 400),
        (link) => link.delay(0),
      ),
  },
  'silence the connections of a node': {
    place: 'network',
    weight: 6,
    run: (cluster, drawn) =>
      onLinks(
        cluster,
        drawn,
        1_000 + drawn.size * 12_000,
        (link) => link.silence(true),
        (link) => link.silence(false),
      ),
  },
  'kill the database': {
    place: 'database',
    weight: 4,
    isKill: true,
    run: ({ database }) => database.killPrimary(),
  },
  'restart the database': {
    place: 'database',
    weight: 2,
    run: ({ database }) => database.restartPrimary(),
  },
  'fail over to the standby': {
    place: 'database',
    weight: 4,
    isKill: true,
    run: ({ database }) => database.failOver(),
  },
  'fill the disk of the database': {
    place: 'database',
    weight: 2,
    isPossible: ({ disk }) => disk.isSmall,
    run: ({ database }, { size }) => database.fillDisk(500 + size * 3_000),
  },
  'fail requests to S3': {
    place: 's3',
    weight: 6,
    async run({ s3 }, { size, sign }) {
      s3.fail(0.3 + size * 0.7, sign > 0 ? 500 : 503)
      await pause(500 + size * 3_000)
      s3.heal()
    },
  },
  'slow S3 down': {
    place: 's3',
    weight: 3,
    async run({ s3 }, { size }) {
      s3.slow(100 + size * 1_500)
      await pause(1_000 + size * 2_000)
      s3.heal()
    },
  },
} satisfies Record<string, FaultKind>

export type FaultName = keyof typeof FAULTS
