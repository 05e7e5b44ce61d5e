/**
 * Loaded into a node: the Postgres store opens a new generation of its tables every quarter of a minute, up to its usual
 * number of them, instead of every few hours. So calls, keys and request ids meet across generations.
 */
import { USUAL_ROTATION } from '../../../src/stores/postgres/generations/rotation.ts'

Object.assign(USUAL_ROTATION, { smallBytes: 1, minAgeMs: 15_000, smallAgeMs: 15_000, largeBytes: 1 })
