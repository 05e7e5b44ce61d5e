/** The column `past`: the attempts that did not end a call, as JSON objects that are separated by commas. */

/** A call that is cut off again and again has only its first attempts here. */
const MAX_BYTES = 16_000

const STARTED_AT = 'coalesce(begun_at, created_at)'

/** The value of the column after an attempt was added, which the change has as JSON. */
export const PAST_WITH_SENT = addToPast(`json_insert(?, '$.startedAt', ${STARTED_AT})`)

/** `entry` is an expression. */
function addToPast(entry: string): string {
  return `CASE WHEN coalesce(octet_length(past), 0) < ${MAX_BYTES} THEN coalesce(past || ',', '') || ${entry} ELSE past END`
}

/** An attempt is under way, or it was until its lease ran out. */
const UNDER_WAY = 'attempt > settled AND (begun_at IS NOT NULL OR attempt = 1)'

const CUT_OFF = `json_object('attempt', attempt - coalesce(extras ->> 'unbegun', 0), 'outcome', 'cut-off',
  'startedAt', ${STARTED_AT}, 'endedAt', due_at)`

/** The value of the column when a worker takes the call. */
export const PAST_OF_TAKEN = `CASE WHEN ${UNDER_WAY} THEN ${addToPast(CUT_OFF)} ELSE past END`
