/** Runs the cases against a server, and collects the findings in one report. */
import { type ConformanceCase, type Level, NotApplicable, Skip, type Target, Unmet } from './case.ts'
import type { HttpAnswer } from './exchange.ts'
import { type Requirement, requirementOf, strongest } from './requirements/index.ts'
import { sideBySide } from './side-by-side.ts'

export type Outcome = 'met' | 'unmet' | 'not-applicable' | 'skipped'

/** The request and the response, without tokens and shortened. */
export interface Evidence {
  sent: { method: string; path: string; headers: Record<string, string>; body: string }
  received: { status: number; headers: Record<string, string>; body: string }
}

export interface Verdict {
  id: string
  title: string
  /** For an unmet check: the broken requirements, if known. */
  requirements: readonly string[]
  /** For an unmet check: the level of what was broken, which may be lower than the level of the check. */
  level: Level
  outcome: Outcome
  durationMs: number
  /** Why the check is not met. */
  reason?: string
  /** The option that would make a skipped check possible. */
  needs?: string
  evidence?: Evidence
}

/** One flaw, which several checks may have found. */
export interface Finding {
  level: Level
  reason: string
  checks: readonly { id: string; title: string }[]
  /** From the first check. */
  requirements: readonly Requirement[]
  evidence?: Evidence
}

export interface JudgeOptions {
  signal?: AbortSignal
  onVerdict?(verdict: Verdict): void
}

/**
 * Runs the cases side by side. A case that is not met then is run again by itself: some servers limit their callers, and
 * a refusal for that reason is no finding.
 */
export async function judge(
  cases: readonly ConformanceCase[],
  target: Target,
  { signal, onVerdict }: JudgeOptions = {},
): Promise<Verdict[]> {
  const shared = new Map<string, Promise<unknown>>()
  const act = async (one: ConformanceCase) => {
    signal?.throwIfAborted()
    return judgeOne(one, { ...target, shared })
  }
  const beside = cases.filter(({ alone }) => !alone)
  const first = new Map((await Promise.all(sideBySide(beside, act))).map((verdict) => [verdict.id, verdict]))
  const verdicts: Verdict[] = []
  for (const one of cases) {
    const known = first.get(one.id)
    const verdict = known && known.outcome !== 'unmet' ? known : await act(one)
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
    // An error in a case is a finding, too: the server sent an unreadable response.
    const { message, level: weight, answer = last, requirements: broken = requirements } = asUnmet(thrown)
    const evidence = answer && evidenceOf(answer, target)
    return { ...about('unmet', weight), requirements: broken, reason: message, ...(evidence && { evidence }) }
  }
}

function asUnmet(thrown: unknown): Unmet {
  if (thrown instanceof Unmet) return thrown
  const { message, cause } = thrown instanceof Error ? thrown : new Error(String(thrown))
  return new Unmet(
    `The check failed with an error: ${cause instanceof Error ? `${message}: ${cause.message}` : message}`,
  )
}

/** Groups unmet checks of the same flaw into findings, the most severe first. */
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

/** Headers that have a meaning in the protocols. */
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
