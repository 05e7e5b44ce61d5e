/**
 * Loaded into a node: the Postgres store opens a new generation of its tables every quarter of a minute, instead of every
 * few hours. Node 1 lets up to eight of them pile up, so that calls, keys and request ids meet across generations. The
 * other nodes drop each one soon after it is closed, with its expired calls, and move the rest. The node that leads the
 * maintenance decides, and the lead changes when it is killed.
 */
import { USUAL_ROTATION } from '../../../src/stores/postgres/generations/rotation.ts'

const pilesUp = process.env.CHAOS_NODE === '1'

Object.assign(USUAL_ROTATION, {
  smallBytes: pilesUp ? 1 : 1e12,
  minAgeMs: 15_000,
  smallAgeMs: 15_000,
  largeBytes: 1,
})
