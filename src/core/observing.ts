/** Whoever watches the engine must not be able to stop it: what an observer throws is logged, and the call goes on. */
import type { Log } from './ports.ts'

export function unharmed<T>(log: Log, tell: () => T): T | undefined {
  try {
    return tell()
  } catch (err) {
    log.error({ err }, 'an observer failed; the call goes on without it')
    return undefined
  }
}
