/** axe-core finds nothing on any screen, in both themes and three widths. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, startConsole } from './site.ts'
import { settled } from './waiting.ts'
import { doSomeWork, someRuns, subscribeAs, TOKENS, waitingApproval, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const WIDTHS = [360, 768, 1280]

interface Violation {
  id: string
  nodes: { html: string }[]
}

describeWith(browser, 'the console', () => {
  let site: ConsoleSite
  const screens: Record<string, string> = {
    login: '#/login',
    runs: '#/runs',
    dead: '#/dead',
    approvals: '#/approvals',
    health: '#/health',
    audit: '#/audit',
    errors: '#/errors',
    settings: '#/settings',
    streams: '#/streams',
    error: '#/errors/TIMEOUT',
    nowhere: '#/nowhere',
    explore: '#/',
  }
  beforeAll(async () => {
    site = await startConsole(worldOptions())
    await doSomeWork(site.url)
    const [failed, other] = await someRuns(site.url)
    Object.assign(screens, {
      run: `#/run/${failed}`,
      peek: `#/runs?peek=${failed}`,
      compare: `#/compare/${failed}/${other}`,
      stream: `#/streams/${await subscribeAs(site.url, 'support', 'v1:Waves.Watch', {})}`,
      approval: `#/approvals/${await waitingApproval(site.url, 'A-1003')}`,
    })
  })
  afterAll(() => site[Symbol.asyncDispose]())

  /** What opens above a screen. */
  const overlays: Record<string, { on: string; open(page: Page): Promise<unknown>; opens?: 'dialog' }> = {
    palette: { on: 'errors', open: (page) => page.keyboard.press('Control+k'), opens: 'dialog' },
    keys: { on: 'runs', open: (page) => page.keyboard.press('?'), opens: 'dialog' },
    person: { on: 'errors', open: (page) => page.getByRole('button', { name: 'You and settings' }).click() },
    export: { on: 'runs', open: (page) => page.getByRole('button', { name: 'Export runs' }).click() },
    replay: { on: 'run', open: (page) => page.getByRole('button', { name: 'Replay…' }).click(), opens: 'dialog' },
    bulk: { on: 'dead', open: selectAndReplay, opens: 'dialog' },
    result: { on: 'explore', open: runFirst },
  }

  const violationsOf = async (page: Page, name: string) => {
    const found: string[] = []
    await page.evaluate(AXE)
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 })
      const { violations } = (await page.evaluate('axe.run({ resultTypes: ["violations"] })')) as {
        violations: Violation[]
      }
      for (const { id, nodes } of violations) found.push(`${name} ${width}: ${id}: ${nodes[0]?.html}`)
    }
    await page.context().close()
    return found
  }
  const openIn = (fragment: string, colorScheme: 'light' | 'dark', token?: string) =>
    site.open(fragment, { colorScheme, reducedMotion: 'reduce', bypassCSP: true, ...(token && { token }) })

  test.for(['light', 'dark'] as const)('every screen is accessible in the %s theme', async (colorScheme) => {
    const found: string[] = []
    for (const [name, fragment] of Object.entries(screens)) {
      const page = await openIn(fragment, colorScheme, name === 'login' ? undefined : TOKENS.operator)
      await settled(page)
      found.push(...(await violationsOf(page, name)))
    }
    expect(found).toEqual([])
  })

  test.for(['light', 'dark'] as const)('what opens above a screen is, too, in the %s theme', async (colorScheme) => {
    const found: string[] = []
    for (const [name, { on, open, opens }] of Object.entries(overlays)) {
      const page = await openIn(screens[on] ?? '', colorScheme, TOKENS.operator)
      await settled(page)
      await open(page)
      if (opens) await page.getByRole(opens).waitFor()
      found.push(...(await violationsOf(page, name)))
    }
    expect(found).toEqual([])
  })
})

async function selectAndReplay(page: Page): Promise<void> {
  await page.locator('.rows input[type=checkbox]').first().check()
  await page.getByRole('button', { name: 'Replay' }).click()
}

async function runFirst(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByText('Complete', { exact: true }).waitFor()
}
