/** Which component shows which route. Each screen is a file of its own that is loaded when it is first needed. */
import type { ComponentType } from 'preact'
import type { RouteName } from './routes.ts'
import { lazily } from './shell/lazily.tsx'

const explore = lazily(async () => (await import('./explore/screen.tsx')).ExploreScreen)
const runs = lazily(async () => (await import('./runs/screen.tsx')).RunsScreen)
const run = lazily(async () => (await import('./run/screen.tsx')).RunScreen)
const approvals = lazily(async () => (await import('./approvals/screen.tsx')).ApprovalsScreen)
const compare = lazily(async () => (await import('./compare/screen.tsx')).CompareScreen)
const dead = lazily(async () => (await import('./dead/screen.tsx')).DeadScreen)
const streams = lazily(async () => (await import('./streams/screen.tsx')).StreamsScreen)
const settings = lazily(async () => (await import('./settings/screen.tsx')).SettingsScreen)
const health = lazily(async () => (await import('./health/screen.tsx')).HealthScreen)
const audit = lazily(async () => (await import('./audit/screen.tsx')).AuditScreen)
const errors = lazily(async () => (await import('./errors/screen.tsx')).ErrorsScreen)

/** A route without a screen is not offered anywhere. */
export const SCREENS: Partial<Record<RouteName, ComponentType>> = {
  explore,
  operation: explore,
  runs,
  run,
  compare,
  approvals,
  approval: approvals,
  dead,
  streams,
  stream: streams,
  health,
  audit,
  errors,
  error: errors,
  settings,
}
