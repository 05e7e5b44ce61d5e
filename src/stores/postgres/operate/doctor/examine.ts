/** Looks for what is wrong with a database for this store. It changes nothing. */
import { Fault } from '../../../../core/fault.ts'
import { type Finding, problem } from '../../../../core/finding.ts'
import type { Session } from '../../connect/session.ts'
import { withSession } from '../operator-session.ts'
import { examineActivity } from './activity.ts'
import { examineClock } from './clock.ts'
import { examinePath } from './path.ts'
import { examineSchema } from './schema.ts'
import { examineSettings } from './settings.ts'

export interface ExamineOptions {
  url: string
  schema: string
  listenUrl?: string
  /** The machine's clock. */
  now(): number
}

type Examination = (session: Session, options: ExamineOptions) => Promise<readonly Finding[]>

const EXAMINATIONS: readonly Examination[] = [examineSettings, examineClock, examineSchema, examineActivity]

export async function examineDatabase(options: ExamineOptions): Promise<readonly Finding[]> {
  try {
    return await withSession(options.url, async (session) => {
      const found: Finding[] = []
      for (const examine of EXAMINATIONS) found.push(...(await examine(session, options)))
      return [...found, ...(await examinePath(options))]
    })
  } catch (thrown) {
    const { message } = Fault.from(thrown)
    return [problem('database', message, 'Correct the address or the database, and run this again.')]
  }
}
