/** Black-box conformance suites: cases that judge any server of a protocol from outside, each citing its requirements. */
import type { ConformanceCase } from './case.ts'
import { opencallCases } from './opencall/index.ts'
import { otcCases, oxpCases } from './oxp/index.ts'
import { restCases } from './rest/index.ts'

export { type ConformanceCase, type Fixtures, Skip, type Target, Unmet } from './case.ts'

export type ConformanceProtocol = 'opencall' | 'oxp' | 'otc' | 'rest'

export function conformanceCases(protocol: ConformanceProtocol): readonly ConformanceCase[] {
  return SUITES[protocol]
}

const SUITES: Readonly<Record<ConformanceProtocol, readonly ConformanceCase[]>> = {
  opencall: opencallCases,
  oxp: oxpCases,
  otc: otcCases,
  rest: restCases,
}
