/** How a case of this suite is written down. */
import type { ConformanceCase } from '../case.ts'
import { Subject } from './subject.ts'

/** `requirements` are numbers: 6 is `rest:06`. None where only a sibling page of the document asks for it. */
export function defineCase(
  id: string,
  title: string,
  requirements: readonly number[],
  run: (server: Subject) => Promise<void>,
): ConformanceCase {
  return {
    id,
    title,
    requirements: requirements.map((number) => `rest:${String(number).padStart(2, '0')}`),
    run: (target) => run(new Subject(target)),
  }
}
