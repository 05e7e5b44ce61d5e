/** Defines the cases of a suite and the ids of their requirements. */
import type { ConformanceCase, Level, Target } from './case.ts'
import { levelOf } from './requirements/index.ts'

/**
 * `requirements` are the numbers of the document's requirements. The list is empty if only a sibling page requires the
 * behaviour. `level` overrides the level of the requirement if the text is less clear than the numbered requirement.
 */
export type DefineCase<Subject> = (
  id: string,
  title: string,
  requirements: readonly number[],
  run: (server: Subject) => Promise<void>,
  level?: Level,
) => ConformanceCase

export function createDefine<Subject>(
  protocol: string,
  digits: number,
  subjectOf: (target: Target) => Subject,
): DefineCase<Subject> {
  return (id, title, numbers, run, level) => {
    const requirements = requirementIds(protocol, digits, numbers)
    return { id, title, requirements, level: level ?? levelOf(requirements), run: (target) => run(subjectOf(target)) }
  }
}

/** The case must not run side by side with others. */
export function alone(one: ConformanceCase): ConformanceCase {
  return { ...one, alone: true }
}

/** With two digits, 6 is `rest:06`. */
export function requirementIds(protocol: string, digits: number, numbers: readonly number[]): readonly string[] {
  return numbers.map((number) => `${protocol}:${String(number).padStart(digits, '0')}`)
}
