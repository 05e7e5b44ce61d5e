/** How a case of this suite is written down. */
import type { ConformanceCase } from '../case.ts'
import { Subject } from './subject.ts'

/** `requirements` are numbers of the specification's requirements: 6 is `opencall:006`. */
export function defineCase(
  id: string,
  title: string,
  requirements: readonly number[],
  run: (server: Subject) => Promise<void>,
): ConformanceCase {
  return {
    id,
    title,
    requirements: requirements.map((number) => `opencall:${String(number).padStart(3, '0')}`),
    run: (target) => run(new Subject(target)),
  }
}
