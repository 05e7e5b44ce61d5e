/** The position of an attempt in the life of its call, as the worker or the inline runner sets it. */

import type { JsonValue } from '../../core/json.ts'

export interface AttemptRun {
  /** The number of failed tries before this attempt. */
  failures: number
  /** When the time of this try, or of all tries, is over. The operation's limit for one attempt applies as well. */
  endsAt?: number
  /** When the time of all tries is over. Both are on the attempt's own clock. */
  deadlineAt?: number
  /** The state that an earlier attempt of the same try stored. */
  waiting?: JsonValue
  answer?: JsonValue
  /** Absent if the call is not recorded. Such a call cannot wait. */
  expectAnswer?(waiting: JsonValue): Promise<void>
  /** Stores the credentials that the tool is about to receive, to redact them from its callback. */
  keepShown?(values: readonly string[]): Promise<void>
  /** The credentials that the tool received in earlier attempts. */
  recallShown?(): Promise<readonly string[]>
}
