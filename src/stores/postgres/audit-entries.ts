/**
 * The audit entry of a call, made from the columns of its row: here, or in a statement that writes it to the audit table
 * without sending the row. Both make the same text.
 */
import { hash } from 'node:crypto'
import { USUAL_ENDING } from '../../core/call/audit-ending.ts'
import type { MediaInput } from '../../core/call/call.ts'
import type { Caller } from '../../core/call/caller.ts'
import { storedFingerprint } from '../../core/call/fingerprint.ts'
import type { JsonValue } from '../../core/json.ts'
import type { AuditEntry } from '../../core/ports/store.ts'
import { decodeText } from './sql/plain-text.ts'

const digest = (text: string): string => hash('sha256', text, 'hex')

/** The columns of a call from which its entry is made. */
export interface EntryRow {
  id: string
  tenant: string
  owner: string
  request_id: string
  operation: string
  created_at: number
  ended_at: number
  audit: string
  caller: string
  args: string
  fixed: string | null
}

/** In the statement, the table of the call is `c` and the table of callers is `k`. */
export const ENTRY_COLUMNS = `c.id, k.tenant, k.owner, c.request_id, c.operation, c.created_at,
  coalesce(c.ended_at, 0) AS ended_at, c.audit, k.caller, c.args, c.fixed`

/** If the call gave up its request id, `audit` has the original one. */
export function decodeKept(row: EntryRow): AuditEntry {
  const { media = [], fingerprint } = (row.fixed === null ? {} : JSON.parse(row.fixed)) as {
    media?: MediaInput[]
    fingerprint?: string
  }
  const operation = decodeText(row.operation)
  const asked = {
    operation,
    args: JSON.parse(row.args) as JsonValue,
    media,
    caller: JSON.parse(row.caller) as Caller,
    ...(fingerprint !== undefined && { fingerprint }),
  }
  return {
    ...USUAL_ENDING,
    id: row.id,
    tenant: decodeText(row.tenant),
    owner: decodeText(row.owner),
    requestId: decodeText(row.request_id),
    operation,
    fingerprint: storedFingerprint(digest, asked),
    startedAt: row.created_at,
    endedAt: row.ended_at,
    ...JSON.parse(row.audit),
  }
}

/** The fields that have no column of their own in the audit table. */
export function encodeRest({ id: _, tenant: _t, owner: _o, operation: _p, endedAt: _e, ...rest }: AuditEntry): string {
  return JSON.stringify(rest)
}

/** Arguments that are longer, or nested more deeply, are read by the node. */
const MOST_BYTES = 4_000
const MOST_LEVELS = 3

/** The members that a call's row may have in `audit`: those with a usual value, the others in their order, and one more. */
const REPLACED = Object.keys(USUAL_ENDING) as (keyof typeof USUAL_ENDING)[]
const ADDED = ['rule', 'approvalId', 'code', 'about']
const ORIGINAL = 'requestId'

/**
 * In a statement: the text of `encodeRest(decodeKept(row))`, or NULL if the node has to make it. It does so if a text
 * has escapes that Postgres does not read, or characters that it sorts in another order, or if a hash of bytes is needed.
 */
export function entryText(): string {
  const member = (name: string) => `(c.audit::json -> '${name}')::text`
  const own = (name: string, usual: string) =>
    `CASE c.audit WHEN '{}' THEN ${usual} ELSE coalesce(${member(name)}, ${usual}) END`
  const usual = REPLACED.map((name) => `'"${name}":' || ${own(name, `'${JSON.stringify(USUAL_ENDING[name])}'`)}`)
  const added = ADDED.map((name) => `coalesce(',"${name}":' || ${member(name)}, '')`)
  const asked = [
    `'[' || to_json(left(c.operation, strpos(c.operation, '@') - 1))::text || ','`,
    canonicalText('c.args::json', MOST_LEVELS),
    `',[]' || coalesce(',' || (k.caller::json -> 'userId')::text, '') || ']'`,
  ]
  const hashed = `'"' || encode(sha256(convert_to(${asked.join(' || ')}, 'UTF8')), 'hex') || '"'`
  const known = [...REPLACED, ...ADDED, ORIGINAL].map((name) => `'${name}'`)
  return `CASE
    WHEN strpos(c.operation, '@') = 0 OR strpos(c.operation || c.request_id, E'\\x01') > 0 THEN NULL
    WHEN c.fixed IS NOT NULL AND strpos(c.fixed, '"media":') + strpos(c.fixed, '\\u') > 0 THEN NULL
    WHEN octet_length(c.args) > ${MOST_BYTES} THEN NULL
    WHEN strpos(c.args, '\\u') + strpos(k.caller, '\\u') + strpos(c.audit, '\\u') > 0 THEN NULL
    WHEN octet_length(c.args) > length(c.args) AND c.args ~ '[\\U00010000-\\U0010FFFF]' THEN NULL
    WHEN c.audit <> '{}' AND EXISTS (SELECT FROM json_object_keys(c.audit::json) AS name
      WHERE name <> ALL (ARRAY[${known.join(', ')}])) THEN NULL
    ELSE '{' || ${usual.join(` || ',' || `)} || ',"requestId":' || ${own(ORIGINAL, 'to_json(c.request_id)::text')}
      || ',"fingerprint":' || coalesce((c.fixed::json -> 'fingerprint')::text, ${hashed})
      || ',"startedAt":' || c.created_at
      || CASE c.audit WHEN '{}' THEN '' ELSE ${added.join(' || ')} END || '}'
    END`
}

/**
 * In a statement: the text that `canonicalJson` makes of this JSON, or NULL if it has more levels. Without a comma there
 * is nothing to sort. A recursive function in the database would do it for any number of levels, in ten times the time.
 */
function canonicalText(json: string, levels: number): string {
  const text = `(${json})::text`
  if (levels === 0) return `CASE WHEN strpos(${text}, ',') = 0 OR left(${text}, 1) NOT IN ('{', '[') THEN ${text} END`
  const part = canonicalText('m.value', levels - 1)
  // OFFSET keeps the planner from computing the parts twice.
  const joined = (open: string, close: string, each: string, order: string, from: string) => `(
    SELECT CASE WHEN count(*) = count(part) THEN '${open}' || string_agg(${each}, ',' ORDER BY ${order}) || '${close}' END
    FROM (SELECT m.*, ${part} AS part FROM ${from} OFFSET 0) AS parts)`
  const members = joined('{', '}', `to_json(key)::text || ':' || part`, 'key COLLATE "C"', `json_each(${json}) AS m`)
  const list = `json_array_elements(${json}) WITH ORDINALITY AS m (value, at)`
  return `CASE WHEN strpos(${text}, ',') = 0 THEN ${text} ELSE CASE left(${text}, 1) WHEN '{' THEN ${members}
    WHEN '[' THEN ${joined('[', ']', 'part', 'at', list)} ELSE ${text} END END`
}
