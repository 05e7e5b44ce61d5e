/** Black-box conformance suites: cases that check any server of a protocol from outside and cite the requirements. */
import type { ConformanceCase, Target } from './case.ts'
import type { Discovery, DiscoveryOptions } from './discovery.ts'
import { discoverOpenCall } from './opencall/discover.ts'
import { opencallCases } from './opencall/index.ts'
import { discoverTools } from './oxp/discover.ts'
import { otcCases, oxpCases } from './oxp/index.ts'
import { discoverRest } from './rest/discover.ts'
import { restCases } from './rest/index.ts'

export {
  type ConformanceCase,
  type Example,
  type Level,
  NotApplicable,
  type Parts,
  Skip,
  type Target,
  Unmet,
} from './case.ts'
export { type Discovery, NeedsToken } from './discovery.ts'

export { type Evidence, type Finding, findingsOf, judge, type Verdict } from './report.ts'

export type ConformanceProtocol = 'opencall' | 'oxp' | 'otc' | 'rest'

export function conformanceCases(protocol: ConformanceProtocol): readonly ConformanceCase[] {
  return SUITES[protocol]
}

/** Finds the operations that the cases need on a server. Throws `NeedsToken` if every call needs a token. */
export function discover(
  protocol: ConformanceProtocol,
  target: Target,
  options: DiscoveryOptions = { sideEffects: false },
): Promise<Discovery> {
  return DISCOVERERS[protocol](target, options)
}

const SUITES: Readonly<Record<ConformanceProtocol, readonly ConformanceCase[]>> = {
  opencall: opencallCases,
  oxp: oxpCases,
  otc: otcCases,
  rest: restCases,
}

const DISCOVERERS: Readonly<
  Record<ConformanceProtocol, (target: Target, options: DiscoveryOptions) => Promise<Discovery>>
> = {
  opencall: discoverOpenCall,
  oxp: (target, options) => discoverTools(target, options, 'oxp'),
  otc: (target, options) => discoverTools(target, options, 'otc'),
  rest: discoverRest,
}
