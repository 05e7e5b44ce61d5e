/** The suite for the Tool Execution API (F3), and for the discovery and validation beside it. */
import type { ConformanceCase } from '../case.ts'
import { callCases } from './cases/calls.ts'
import { checkCases } from './cases/checks.ts'
import { discoveryCases } from './cases/discovery.ts'

export const restCases: readonly ConformanceCase[] = [...checkCases, ...callCases, ...discoveryCases]
