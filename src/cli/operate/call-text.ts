/** One call as text for a person: its facts, its error, its attempts, its child calls and its replays. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { objectsIn } from '../client/administration.ts'
import type { Output } from '../command.ts'
import { ageText, durationText } from '../terminal/duration.ts'
import { tableText } from '../terminal/table.ts'
import { plainLine } from '../terminal/text.ts'
import { CALL_HEAD, callRow, cellOf } from './call-rows.ts'

export function callText(details: JsonObject, output: Output, now: number): string {
  const call = isJsonObject(details.call) ? details.call : {}
  const replays = Array.isArray(details.replays) ? details.replays : []
  const children = objectsIn(details.children)
  const attempts = objectsIn(details.attempts)
  return [
    factsText([...factsOf(call, now), ...decisionFacts(details)]),
    section('Error', errorText(details.error)),
    section('Attempts', attempts.length > 0 && tableText([ATTEMPT_HEAD, ...attempts.map(attemptRow)], output)),
    section(
      'Child calls',
      children.length > 0 && tableText([CALL_HEAD, ...children.map((child) => callRow(child, now))], output),
    ),
    section('Replays', replays.length > 0 && replays.map(cellOf).join('\n')),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

export function section(title: string, text: string | false): string {
  return text === false || text === '' ? '' : `${title}\n${text}`
}

type Fact = readonly [name: string, value: JsonValue | undefined]

function factsOf(call: JsonObject, now: number): Fact[] {
  const { createdAt, durationMs, progress } = call
  const done = isJsonObject(progress) && call.endedAt === undefined ? progress : undefined
  return [
    ['id', call.id],
    ['operation', call.operation],
    ['version', call.version],
    ['state', call.held === true ? `${call.state}, waits for an approval` : call.state],
    ['caller', call.owner],
    ['user', call.userId],
    ['request id', call.requestId],
    ['session', call.sessionId],
    ['key', call.idempotencyKey],
    ['risk', call.risk],
    ['made', createdAt === undefined ? undefined : `${createdAt} (${ageText(createdAt, now)} ago)`],
    ['ended', call.endedAt],
    ['took', typeof durationMs === 'number' ? durationText(durationMs) : undefined],
    ['kept until', call.expiresAt],
    ['progress', done && `${Math.floor(Number(done.fraction) * 100)}%${done.message ? ` ${done.message}` : ''}`],
    ['parent', call.parent],
    ['replay of', call.replayOf],
    ['trace', call.traceparent],
  ]
}

function decisionFacts({ decision, approval }: JsonObject): Fact[] {
  const facts: Fact[] = []
  if (isJsonObject(decision)) {
    const { verdict, rule } = decision
    facts.push(['policy', rule === undefined ? verdict : `${verdict}, by the rule ${rule}`])
  }
  if (isJsonObject(approval)) facts.push(['approval', `${approval.status}${decidedText(approval.decision)}`])
  return facts
}

function decidedText(decision: JsonValue | undefined): string {
  if (!isJsonObject(decision)) return ''
  const { by, at, why } = decision
  return `, decided by ${by} at ${at}${why === undefined ? '' : `: ${why}`}`
}

function factsText(facts: readonly Fact[]): string {
  const known = facts.filter(([, value]) => value !== undefined)
  return known.map(([name, value]) => `${name.padEnd(11)} ${cellOf(value)}`).join('\n')
}

function errorText(error: JsonValue | undefined): string {
  return isJsonObject(error) ? plainLine(`${error.code}: ${error.message}`) : ''
}

const ATTEMPT_HEAD = ['ATTEMPT', 'OUTCOME', 'STARTED', 'TOOK', 'AGAIN AT', 'CODE', 'MESSAGE']

function attemptRow({ attempt, outcome, startedAt, endedAt, retryAt, code, message }: JsonObject): string[] {
  const took = Date.parse(String(endedAt)) - Date.parse(String(startedAt))
  const duration = Number.isNaN(took) ? undefined : durationText(Math.max(0, took))
  return [attempt, outcome, startedAt, duration, retryAt, code, message].map(cellOf)
}
