/** What an examination found: one line for an operator. */
export interface Finding {
  /** A problem loses calls or stops the server. A warning may be intended. */
  level: 'fine' | 'warning' | 'problem'
  /** A word or two, such as "clock". */
  about: string
  /** What is so. */
  what: string
  /** The next step. Absent if all is fine. */
  advice?: string
}

export function fine(about: string, what: string): Finding {
  return { level: 'fine', about, what }
}

export function warning(about: string, what: string, advice: string): Finding {
  return { level: 'warning', about, what, advice }
}

export function problem(about: string, what: string, advice: string): Finding {
  return { level: 'problem', about, what, advice }
}
