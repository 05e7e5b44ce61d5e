/** The callers of a chaos run, with their credentials. They live as long as the run, on loopback. */
import { hashToken } from '../../../src/security/identity/tokens.ts'

const SUBJECTS = ['ada', 'bob', 'cleo'] as const
const DECIDER = 'dora'

export type Subject = (typeof SUBJECTS)[number] | typeof DECIDER
export const CALLERS: readonly Subject[] = SUBJECTS

export function tokenOf(subject: Subject): string {
  return `chaos-token-of-${subject}-with-32-characters`
}

export function authOf(subject: Subject) {
  return { iss: 'chaos', sub: subject, credentialType: 'bearer', credential: tokenOf(subject) }
}

export const TOKENS = [
  ...SUBJECTS.map((subject) => ({ subject, scopes: ['*'] })),
  { subject: DECIDER, scopes: ['*', 'callplane:approve', 'callplane:audit'] },
].map(({ subject, scopes }) => ({
  hash: hashToken(tokenOf(subject as Subject)),
  kind: 'bearer' as const,
  subject,
  scopes,
}))
