/**
 * How processes write changes for each other. Each one writes numbered batches, and a head with the number of its last
 * one. A reader that finds the head and not the batch knows that it missed changes, and so it does if the head of a
 * process goes away without a farewell.
 */
import type { Noted } from './change.ts'

export const BATCHES = 'changes-batch/'
export const HEADS = 'changes-of/'
export const BATCH_MS = 60_000
/** How long a process that does not renew its head counts as alive, and how often it renews it. */
export const HEAD_MS = 15_000
export const RENEW_MS = 5_000
/** A batch can be stored later than its key says. */
export const LATE_MS = 5_000

export interface Batch {
  node: string
  /** The first one of a process has the number 1. */
  number: number
  /** Changes before these were lost. */
  lost?: true
  changes: Noted[]
}

export interface Head {
  /** The number of the last batch. */
  number: number
  /** The process has ended in order, and this batch is its last. */
  ended?: true
}

export function batchKey(ms: number, { node, number }: Pick<Batch, 'node' | 'number'>): string {
  return `${BATCHES}${timeKey(ms)}/${node}/${number}`
}

/** In the order of time. */
export function timeKey(ms: number): string {
  return Math.max(0, Math.floor(ms)).toString().padStart(15, '0')
}
