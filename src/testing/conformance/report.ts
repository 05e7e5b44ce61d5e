/** Runs the cases against a server, and puts what they found into one report. */
import { type ConformanceCase, type Level, NotApplicable, Skip, type Target, Unmet } from './case.ts'
import type { HttpAnswer } from './exchange.ts'
import { type Requirement, requirementOf, strongest } from './requirements/index.ts'

export type Outcome = 'met' | 'unmet' | 'not-applicable' | 'skipped'

/** What was sent and what came back, without tokens and cut to what can be read. */
export interface Evidence {
  sent: { method: string; path: string; headers: Record<string, string>; body: string }
  received: { status: number; headers: Record<string, string>; body: string }
}

export interface Verdict {
  id: string
  title: string
  /** Of an unmet check: those that are broken, where that is known. */
  requirements: readonly string[]
  /** Of an unmet check: what was broken, which may weigh less than the check as a whole. */
  level: Level
  outcome: Outcome
  durationMs: number
  /** Why it is not met. */
  reason?: string
  /** The option that would let a skipped check be judged. */
  needs?: string
  evidence?: Evidence
}

/** One flaw, however many checks came across it. */
export interface Finding {
  level: Level
  reason: string
  checks: readonly { id: string; title: string }[]
  /** Of the first check. */
  requirements: readonly Requirement[]
  evidence?: Evidence
}

export interface JudgeOptions {
  signal?: AbortSignal
  onVerdict?(verdict: Verdict): void
}

export async function judge(
  cases: readonly ConformanceCase[],
  target: Target,
  { signal, onVerdict }: JudgeOptions = {},
): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  for (const one of cases) {
    signal?.throwIfAborted()
    const verdict = await judgeOne(one, target)
    verdicts.push(verdict)
    onVerdict?.(verdict)
  }
  return verdicts
}

async function judgeOne({ id, title, requirements, level, run }: ConformanceCase, target: Target): Promise<Verdict> {
  let last: HttpAnswer | undefined
  const startedAt = performance.now()
  const about = (outcome: Outcome, weight = level) => {
    const durationMs = Math.round(performance.now() - startedAt)
    return { id, title, requirements, level: weight, outcome, durationMs }
  }
  try {
    await run({
      ...target,
      observe: (answer) => {
        last = answer
        target.observe?.(answer)
      },
    })
    return about('met')
  } catch (thrown) {
    if (thrown instanceof Skip) {
      const outcome = thrown instanceof NotApplicable ? 'not-applicable' : 'skipped'
      return { ...about(outcome), reason: thrown.message, ...(thrown.needs !== undefined && { needs: thrown.needs }) }
    }
    // A case that stumbles over a response has found something too: the server sent what nobody could read.
    const { message, level: weight, answer = last, requirements: broken = requirements } = asUnmet(thrown)
    const evidence = answer && evidenceOf(answer, target)
    return { ...about('unmet', weight), requirements: broken, reason: message, ...(evidence && { evidence }) }
  }
}

function asUnmet(thrown: unknown): Unmet {
  if (thrown instanceof Unmet) return thrown
  const { message, cause } = thrown instanceof Error ? thrown : new Error(String(thrown))
  return new Unmet(`The check broke off: ${cause instanceof Error ? `${message}: ${cause.message}` : message}`)
}

/** Unmet checks of the same flaw become one finding, the heaviest findings first. */
export function findingsOf(verdicts: readonly Verdict[]): Finding[] {
  const groups = new Map<string, Verdict[]>()
  for (const verdict of verdicts.filter(({ outcome }) => outcome === 'unmet')) {
    const flaw = (verdict.reason ?? '').replace(/[0-9a-f]{8}-[0-9a-f-]{27}/gi, '{id}')
    groups.set(flaw, [...(groups.get(flaw) ?? []), verdict])
  }
  const findings = [...groups.values()].map((group): Finding => {
    const level = strongest(group.map((verdict) => verdict.level))
    const first = group.find((verdict) => verdict.level === level)
    return {
      level,
      reason: first?.reason ?? '',
      checks: group.map(({ id, title }) => ({ id, title })),
      requirements: (first?.requirements ?? []).map(requirementOf),
      ...(first?.evidence && { evidence: first.evidence }),
    }
  })
  return (['must', 'should', 'may'] as const).flatMap((level) => findings.filter((each) => each.level === level))
}

/** Headers that the protocols give a meaning. */
const TELLING =
  /^(?:content-type|content-range|accept-ranges|location|allow|cache-control|etag|last-modified|retry-after|www-authenticate|oxp-version|call-.*)$/
const SHOWN_CHARACTERS = 600

function evidenceOf({ sent, status, headers, bytes }: HttpAnswer, { token, otherToken }: Target): Evidence {
  const secrets = [token, otherToken].filter((secret) => secret !== undefined && secret !== '')
  const hidden = (text: string) => secrets.reduce<string>((shown, secret) => shown.replaceAll(secret ?? '', '…'), text)
  const text = new TextDecoder().decode(bytes.subarray(0, SHOWN_CHARACTERS + 1))
  const body = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text
  const all = Object.entries(sent.headers).map(([name, value]) => [name, hidden(value)])
  return {
    sent: { method: sent.method, path: hidden(sent.path), headers: Object.fromEntries(all), body: hidden(sent.body) },
    received: {
      status,
      headers: Object.fromEntries([...headers].filter(([name]) => TELLING.test(name))),
      body: hidden(body),
    },
  }
}
