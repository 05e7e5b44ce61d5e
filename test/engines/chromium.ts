/** Debian's Chromium without a window, driven through playwright. */
import { type Browser, chromium } from 'playwright-core'
import { findProgram } from './engines.ts'

const ARGUMENTS = [
  '--headless',
  // Chromium's sandbox needs rights that containers and root do not have. The pages are our own.
  '--no-sandbox',
  '--disable-gpu',
  // It connects only to what a test names.
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]

/** Disposing of the browser closes it. Playwright also closes it when this process ends. */
export function openChromium(args: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: findProgram('chromium') ?? 'chromium', args: [...ARGUMENTS, ...args] })
}
