/**
 * Defects that are planted into the nodes or the database, to see that the checker finds them. None of them is in the
 * product: they are modules that Node loads before the program, and settings of the cluster.
 */
import { join } from 'node:path'
import type { FaultName } from './faults.ts'

export interface Defect {
  what: string
  /** Modules for every node. */
  imports?: readonly string[]
  env?: Readonly<Record<string, string>>
  /** The standby is asynchronous, and this much behind. */
  standbyLagsMs?: number
  /** The faults that bring it to light. Without any, it shows by itself. */
  faults: { count: number; only: readonly FaultName[] }
  /** Part of what the checker must find. */
  finding: RegExp
}

const MINUTES = 1
const file = (name: string) => join(import.meta.dirname, 'defects', name)
const inStore = (name: string) => ({ imports: [file('plant.ts')], env: { CHAOS_PLANT: name } })
const none = { count: 0, only: [] }
const pauses = { count: 18, only: ['pause a node beyond its lease'] } satisfies Defect['faults']
const kills = { count: 12, only: ['kill a node', 'kill the database'] } satisfies Defect['faults']

/** How long a planted run is disturbed, if the command line does not say. */
export const PLANTED_MINUTES = MINUTES

export const DEFECTS: Readonly<Record<string, Defect>> = {
  'no-fence': {
    what: 'an attempt that lost its lease still writes its outcome',
    ...inStore('no-fence'),
    faults: pauses,
    finding: /no fence|ended twice/,
  },
  'early-acknowledgement': {
    what: 'a call is acknowledged before it is committed',
    ...inStore('early-acknowledgement'),
    faults: kills,
    finding: /is lost|is not recorded/,
  },
  'own-clock': {
    what: "a node uses its own clock instead of the database's",
    ...inStore('own-clock'),
    faults: { count: 6, only: ['set the clock of a node wrong'] },
    finding: /a wrong clock/,
  },
  'deaf-watchers': {
    what: 'a watcher does not hear of changes on other nodes, and does not look for them',
    ...inStore('deaf-watchers'),
    faults: none,
    finding: /heard of the end \d+ ms late|had no end/,
  },
  'asynchronous-standby': {
    what: 'the standby of a failover is asynchronous, and behind',
    standbyLagsMs: 1_500,
    faults: { count: 3, only: ['fail over to the standby'] },
    finding: /is lost/,
  },
  'no-lock': {
    what: 'claims take calls without locking them',
    imports: [file('no-lock.ts')],
    faults: none,
    finding: /at once, and both were well|was started on nodes/,
  },
  'keys-not-unique': {
    what: 'idempotency keys are not unique',
    ...inStore('keys-not-unique'),
    faults: none,
    finding: /more than once|had \d+ keys/,
  },
  'stale-reads': {
    what: 'a poll may show an older state',
    ...inStore('stale-reads'),
    faults: none,
    finding: /went back/,
  },
  'ends-overwritten': {
    what: 'an outcome is written although the call has ended',
    ...inStore('ends-overwritten'),
    faults: pauses,
    finding: /ended twice/,
  },
  'open-to-others': {
    what: "a caller sees another caller's calls",
    ...inStore('open-to-others'),
    faults: none,
    finding: /sees the call/,
  },
  'swallowed-s3-errors': {
    what: 'a chunk that S3 refuses counts as written',
    imports: [file('swallowed-s3-errors.ts')],
    faults: { count: 10, only: ['fail requests to S3'] },
    finding: /chunk/,
  },
  'grants-used-twice': {
    what: 'an approval is not marked as used',
    ...inStore('grants-used-twice'),
    faults: none,
    finding: /used twice/,
  },
  'early-drop': {
    what: 'a generation is dropped with calls that are to be kept for longer',
    imports: [file('early-drop.ts')],
    faults: none,
    finding: /is lost/,
  },
  'guessed-commits': {
    what: 'a write whose answer was lost counts as refused',
    imports: [file('guessed-commits.ts')],
    faults: { count: 20, only: ['lose answers of the database', 'cut the connections of a node'] },
    finding: /was refused with .*, and exists|never ended|left open/,
  },
}
