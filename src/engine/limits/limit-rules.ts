/** The limits that an application can set, and their defaults. */

import type { Weights } from '../../core/fairness/fair-turns.ts'

export interface LimitRules {
  /** Average calls per second of one caller. 0 means no limit. */
  callsPerSecond: number
  /** How many calls one caller may make at once before the rate applies. */
  callBurst: number
  /** Calls of one caller that are accepted and have not ended. */
  openCallsPerCaller: number
  /** Calls of one caller that wait for an approval, or were refused because they need one. */
  pendingApprovalsPerCaller: number
  /** Calls of all callers that are accepted and have not started. */
  queuedCalls: number
  /** Concurrent attempts on this node. */
  runningCalls: number
  /**
   * Slots that a caller with many running calls leaves free for other callers. Default: an eighth of `runningCalls`.
   */
  reservedCalls?: number
  /** Sync calls of all callers that wait for a slot. */
  waitingCalls: number
  /** How long a sync call waits for a slot. 0 refuses it at once. */
  slotWaitMs: number
  /** Callers that get more than one call per turn when callers wait for slots. */
  weights?: Weights
  /** Polls of one call: this many at once, then one per interval. */
  pollBurst: number
  pollIntervalMs: number
  /** Streams of one caller that are open on one node. */
  streamsPerCaller: number
  /** Frames per second of all streams of one caller on one node. 0 means no limit. */
  framesPerSecond: number
  /** The same in bytes. 0 means no limit. */
  frameBytesPerSecond: number
}

export const DEFAULT_LIMITS: LimitRules = {
  callsPerSecond: 0,
  callBurst: 100,
  openCallsPerCaller: 10_000,
  pendingApprovalsPerCaller: 100,
  queuedCalls: 100_000,
  runningCalls: 256,
  waitingCalls: 256,
  // The same as `retryAfterMs` of the refusal.
  slotWaitMs: 1_000,
  pollBurst: 10,
  // A caller that polls every 100 ms or more slowly is never refused.
  pollIntervalMs: 100,
  streamsPerCaller: 100,
  framesPerSecond: 0,
  frameBytesPerSecond: 0,
}
