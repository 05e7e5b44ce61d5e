/** Waits for a state of the page. The page's policy forbids `eval`, which `page.waitForFunction` uses when it asks again. */
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const TIMEOUT = { timeout: 10_000 }

/** `condition` is an expression that the page evaluates. */
export async function until(page: Page, condition: string): Promise<void> {
  await expect.poll(() => page.evaluate(`Boolean(${condition})`), TIMEOUT).toBe(true)
}

/** A screen is there, and nothing of it is still being loaded. */
export function settled(page: Page): Promise<void> {
  return until(page, `document.querySelector('main') && !document.querySelector('.skeletons, .starting')`)
}
