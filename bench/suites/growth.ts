/** The cost of a call as its surroundings grow: operations, stored instances, connections. */
import { measureConnections } from './growth-connections.ts'
import { measureInstances, measureOperations } from './growth-in-process.ts'
import type { Findings, Suite } from './suite.ts'

export const growth: Suite = async (settings) => {
  const findings: Findings = { rows: [], goals: [] }
  for (const measure of [measureOperations, measureInstances, measureConnections]) {
    const { rows, goals } = await measure(settings)
    findings.rows.push(...rows)
    findings.goals.push(...goals)
  }
  return findings
}
