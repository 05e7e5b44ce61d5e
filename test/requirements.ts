/**
 * A test names the numbered requirements that it proves: `verifies('opencall:091')` in its body. At the end of a full
 * run the gate fails on a requirement that no passing test cites, unless it is listed as not yet built.
 */
import { TestRunner } from 'vitest'
import { requirements } from './requirements/catalogue.ts'

declare module 'vitest' {
  interface TaskMeta {
    requirements?: string[]
  }
}

export function verifies(...ids: readonly string[]): void {
  const unknown = ids.filter((id) => !requirements.has(id))
  if (unknown.length > 0) {
    throw new Error(`No such requirement: ${unknown.join(', ')}. Look the id up in docs/conformance.md.`)
  }
  const test = TestRunner.getCurrentTest()
  if (!test) throw new Error('verifies() belongs in the body of a test; here there is none running.')
  // While tests run concurrently, vitest cannot tell which of them makes the call.
  if (test.concurrent)
    throw new Error(`verifies() cannot be used in a concurrent test; make "${test.name}" sequential.`)
  test.meta.requirements = [...new Set([...(test.meta.requirements ?? []), ...ids])]
}
