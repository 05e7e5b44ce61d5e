/** The column `past`: the attempts that did not end a call, as JSON objects that are separated by commas. */

/** A call that is cut off again and again has only its first attempts here. */
const MAX_BYTES = 16_000

const STARTED_AT = 'coalesce(c.begun_at, c.created_at)'

/**
 * The value of the column after an attempt was added, which the change has as JSON in `u.past`. If it has a start of its
 * own, that comes later in the text and is the one that counts. The table is `c`.
 */
export const PAST_WITH_SENT = addToPast(`'{"startedAt":' || ${STARTED_AT} || ',' || substr(u.past, 2)`)

/** `entry` is an expression. */
function addToPast(entry: string): string {
  return `CASE WHEN coalesce(octet_length(c.past), 0) < ${MAX_BYTES} THEN coalesce(c.past || ',', '') || ${entry} ELSE c.past END`
}

/** How often the handler was started. `unbegun` counts the attempts before which it was not. */
export const STARTS = `c.attempt - coalesce(substring(c.extras FROM '"unbegun":([0-9]+)')::integer, 0)`

/** An attempt is under way, or it was until its lease ran out. */
const UNDER_WAY = 'c.attempt > c.settled AND (c.begun_at IS NOT NULL OR c.attempt = 1)'

const CUT_OFF = `format('{"attempt":%s,"outcome":"cut-off","startedAt":%s,"endedAt":%s}',
  ${STARTS}, ${STARTED_AT}, c.due_at)`

/** The value of the column when a worker takes the call. */
export const PAST_OF_TAKEN = `CASE WHEN ${UNDER_WAY} THEN ${addToPast(CUT_OFF)} ELSE c.past END`
