/** Which component shows which route. Each screen is a file of its own that is loaded when it is first needed. */
import type { ComponentType } from 'preact'
import type { RouteName } from './routes.ts'
import { lazily } from './shell/lazily.tsx'

type Load = () => Promise<ComponentType>

const explore: Load = async () => (await import('./explore/screen.tsx')).ExploreScreen

/** A route without a screen is not offered anywhere. */
export const SCREENS: Partial<Record<RouteName, ComponentType>> = {
  explore: lazily(explore),
  operation: lazily(explore),
}
