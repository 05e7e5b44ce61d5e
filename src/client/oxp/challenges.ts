/** Shows authorization challenges, and polls until they are completed. "Tool Authorization Challenges". */
import { isJsonObject } from '../../core/json.ts'
import type { Deadline } from './deadline.ts'
import { OxpError } from './error.ts'
import { type Exchange, notOxp } from './exchange.ts'
import type { ChallengeInfo, OnChallenge } from './options.ts'

/** Checks that fail one after another before the client gives up. A single lost request ends nothing. */
const MAX_FAILED_CHECKS = 3

export interface Checking {
  exchange: Exchange
  deadline: Deadline
  onChallenge: OnChallenge
  pollMs: number
}

/** Returns true if all challenges are completed. Without a `checkUrl`, `onChallenge` says so by returning true. */
export async function completeChallenges(challenges: readonly ChallengeInfo[], checking: Checking): Promise<boolean> {
  const { deadline, onChallenge, pollMs } = checking
  let pending: Pending[] = []
  for (const challenge of challenges) {
    const shown = await deadline.within(Promise.resolve(onChallenge(challenge, deadline.signal)))
    if (challenge.checkUrl !== undefined) pending.push({ challenge, checkUrl: challenge.checkUrl, failedChecks: 0 })
    else if (shown !== true) return false
  }
  while (pending.length > 0) {
    await deadline.sleep(pollMs)
    const checked = await Promise.all(pending.map((one) => check(one, checking)))
    pending = pending.filter((_, index) => checked[index] === 'pending')
  }
  return true
}

interface Pending {
  challenge: ChallengeInfo
  checkUrl: string
  failedChecks: number
}

async function check(pending: Pending, { exchange, deadline }: Checking): Promise<'pending' | 'completed'> {
  const { challenge, checkUrl } = pending
  try {
    const answer = await exchange.send(checkUrl, deadline)
    const { status, body } = answer
    if (status !== 200 || !isJsonObject(body) || typeof body.status !== 'string') throw notOxp(answer)
    pending.failedChecks = 0
    if (body.status === 'failed') throw failed(challenge, 'was declined or has expired. Call the tool again.')
    // A later version may have more states. Only the known ones end the wait.
    return body.status === 'completed' ? 'completed' : 'pending'
  } catch (thrown) {
    if (!(thrown instanceof OxpError) || deadline.signal.aborted || thrown.code === 'CHALLENGE_FAILED') throw thrown
    pending.failedChecks++
    if (pending.failedChecks < MAX_FAILED_CHECKS) return 'pending'
    throw failed(challenge, `cannot be checked: ${thrown.message}`, thrown)
  }
}

function failed(challenge: ChallengeInfo, why: string, cause?: unknown): OxpError {
  return new OxpError(`The authorization ${challenge.id} ${why}`, {
    code: 'CHALLENGE_FAILED',
    outcome: 'refused',
    challenges: [challenge],
    cause,
  })
}
