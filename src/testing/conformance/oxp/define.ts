/** Defines a case of these suites once, for one dialect or for both. */
import type { ConformanceCase } from '../case.ts'
import { requirementIds } from '../define.ts'
import { levelOf } from '../requirements/index.ts'
import { type Dialect, Subject } from './subject.ts'

export interface DialectCase {
  id: string
  title: string
  /** Numbers of the requirements: 6 is `oxp:06`. Empty if only a sibling page of the specification requires it. */
  requirements: readonly number[]
  run: (server: Subject) => Promise<void>
  only?: Dialect
}

export function defineCase(
  id: string,
  title: string,
  requirements: readonly number[],
  run: (server: Subject) => Promise<void>,
  only?: Dialect,
): DialectCase {
  return { id, title, requirements, run, ...(only && { only }) }
}

export function casesFor(dialect: Dialect, cases: readonly DialectCase[]): readonly ConformanceCase[] {
  return cases
    .filter(({ only = dialect }) => only === dialect)
    .map(({ id, title, requirements: numbers, run }) => {
      const requirements = requirementIds('oxp', 2, numbers)
      return {
        id,
        title,
        requirements,
        // Sibling pages of the specification state their requirements as must.
        level: requirements.length === 0 ? 'must' : levelOf(requirements),
        run: (target) => run(new Subject(target, dialect)),
      }
    })
}
