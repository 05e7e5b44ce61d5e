/**
 * Feature 19, for every route: a person goes somewhere by clicks and keys, copies the address, and opens it in a fresh
 * browser. Both show the same to a screen reader. The link runs nothing.
 */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { placeOf, ROUTES, type RouteName } from '../../console/src/routes.ts'
import { browser, describeWith } from '../engines/engines.ts'
import { addressesOf } from './addresses.ts'
import { type ConsoleSite, startConsole } from './site.ts'
import { settled, until } from './waiting.ts'
import { callAs, doSomeWork, TOKENS, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

/** From the route's own address, in `addresses.ts`, to a state that a person would send to another. */
const DRIVE: Record<RouteName, (page: Page) => Promise<unknown>> = {
  explore: (page) => page.getByLabel('Filter operations').fill('stock'),
  async operation(page) {
    // What the list is filtered by is not part of an operation's link.
    await page.getByLabel('Filter operations').fill('')
    await page.getByLabel('orderId', { exact: true }).fill('B-1')
    for (const choice of ['Both', 'MCP']) {
      await page.getByRole('button', { name: choice, exact: true }).click()
      await page.locator(`button[aria-pressed="true"]:text-is("${choice}")`).waitFor()
    }
    await page.getByRole('link', { name: 'Documentation' }).click()
    await page.locator('a[aria-current="page"]:text-is("Documentation")').waitFor()
    await until(page, `/a=/.test(location.hash)`)
  },
  async runs(page) {
    await page.getByRole('button', { name: 'Failed' }).click()
    await page.getByLabel('Filter', { exact: true }).fill('state:error code:CARRIER_AWAY')
    await page.keyboard.press('Enter')
    await page.getByText('3 runs').waitFor()
    await page.keyboard.press('Escape')
    for (const key of ['j', 'j', 'p']) await page.keyboard.press(key)
    await page.getByRole('complementary', { name: 'Preview' }).getByText('Attempt 3 failed').waitFor()
  },
  async run(page) {
    await page.getByRole('link', { name: 'Attempt 2 failed' }).click()
    await page.locator('.timeline [aria-current=true]').waitFor()
  },
  compare: (page) => page.getByRole('link', { name: 'Result', exact: true }).click(),
  approvals: (page) => page.getByRole('link', { name: 'All', exact: true }).click(),
  approval: (page) => page.keyboard.press('j'),
  dead: (page) => page.getByRole('button', { name: /v1:orders.ship INTERNAL/ }).click(),
  health: (page) => page.getByRole('button', { name: '6 hours' }).click(),
  async audit(page) {
    await page.getByRole('button', { name: 'Held' }).click()
    await until(page, `/verdict/.test(location.hash)`)
  },
  errors: (page) => page.getByRole('searchbox').fill('time'),
  error: (page) => page.getByRole('link', { name: /^CANCELED/ }).click(),
  // The address alone must be enough.
  streams: async () => {},
  stream: async () => {},
  settings: async () => {},
  // Nobody is signed in, and the address that they wanted stays.
  login: (page) => page.evaluate(`location.hash = '#/runs?f=state:error'`),
}

describeWith(browser, 'a copied link', () => {
  let site: ConsoleSite
  let addresses: Record<RouteName, string>
  /** Where a person goes from route to route. */
  let tab: Page
  const now = new Date()
  beforeAll(async () => {
    site = await startConsole(worldOptions())
    await doSomeWork(site.url)
    addresses = await addressesOf(site.url)
    tab = await openAt('', 'runs')
  })
  afterAll(() => site[Symbol.asyncDispose]())

  const openAt = (fragment: string, route: RouteName) =>
    site.open(fragment, { now, ...(route !== 'login' && { token: TOKENS.operator }) })
  const countCalls = async () => {
    const { result } = await callAs(site.url, 'operator', 'v1:callplane.calls.count', {})
    return (result as { total: number }).total
  }
  const snapshot = async (page: Page) => {
    await settled(page)
    await page.evaluate('document.activeElement?.blur()')
    const tree = await page.locator('main').ariaSnapshot()
    // The figures of a server that goes on.
    return placeOf(new URL(page.url()).hash)?.name === 'health' ? tree.replaceAll(/\d[\d.,]*/g, '0') : tree
  }

  test.for(Object.keys(ROUTES) as RouteName[])('shows the same: %s', async (route) => {
    const page = route === 'login' ? await openAt(addresses.login, route) : tab
    await page.goto(`${site.url}/console/${addresses[route]}`)
    await settled(page)
    await DRIVE[route](page)
    await settled(page)
    const { hash } = new URL(page.url())
    const recorded = await countCalls()

    const fresh = await openAt(hash, route)

    await expect.poll(() => snapshot(fresh), { timeout: 10_000 }).toBe(await snapshot(page))
    expect(new URL(fresh.url()).hash).toBe(hash)
    expect(await countCalls()).toBe(recorded)
    expect(placeOf(hash)?.name).toBe(route === 'login' ? 'runs' : route)
    await fresh.context().close()
    expect(site.complaints).toEqual([])
  })
})
