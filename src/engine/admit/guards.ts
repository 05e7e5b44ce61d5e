/** Asks the guards whether a caller may call an operation at all. */
import type { Caller } from '../../core/call/caller.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Guard } from '../../core/ports/guard.ts'

/** Asks the guards in order. Returns a promise only if a guard does. */
export function admitAll(
  guards: readonly Guard[],
  caller: Caller,
  operation: Operation,
  name?: string,
  from = 0,
): Promise<void> | undefined {
  for (let at = from; at < guards.length; at++) {
    const answer = (guards[at] as Guard).admit?.(caller, operation, name)
    if (answer instanceof Promise) return answer.then(() => admitAll(guards, caller, operation, name, at + 1))
  }
  return undefined
}
