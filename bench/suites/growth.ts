/** What a call costs as everything around it grows: operations, stored instances, connections; and while a million expire. */
import { measureConnections } from './growth-connections.ts'
import { measureExpiry } from './growth-expiry.ts'
import { measureInstances, measureOperations } from './growth-in-process.ts'
import type { Findings, Suite } from './suite.ts'

export const growth: Suite = async (settings) => {
  const findings: Findings = { rows: [], goals: [] }
  for (const measure of [measureOperations, measureInstances, measureConnections, measureExpiry]) {
    const { rows, goals } = await measure(settings)
    findings.rows.push(...rows)
    findings.goals.push(...goals)
  }
  return findings
}
