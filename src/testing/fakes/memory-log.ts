/** A log that stores its lines, for tests that read them. */
import type { Log } from '../../core/ports/runtime.ts'

export interface LogLine {
  level: 'debug' | 'info' | 'warn' | 'error'
  fields: Readonly<Record<string, unknown>>
  message: string
}

/** Appends lines to `lines` in order, including those of child logs. */
export function createMemoryLog(lines: LogLine[], own: object = {}): Log {
  const at = (level: LogLine['level']) => (fields: object, message: string) =>
    void lines.push({ level, fields: { ...own, ...fields }, message })
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => createMemoryLog(lines, { ...own, ...fields }),
  }
}
