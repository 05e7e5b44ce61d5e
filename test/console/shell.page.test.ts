/** The frame of the page in Chromium: it starts, asks for a sign-in, shows places, and complains about nothing. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, startConsole } from './site.ts'
import { TOKENS, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

describeWith(browser, 'the page', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    site = await startConsole(worldOptions())
  })
  afterAll(() => site[Symbol.asyncDispose]())

  test('a token signs in, and the rail has only what its scopes allow', async () => {
    const page = await site.open('#/errors')
    await page.getByLabel('Token, or link with a code').fill(TOKENS.support)
    await page.getByRole('button', { name: 'Sign in' }).click()

    await page.getByRole('heading', { name: 'Errors', exact: true }).waitFor()
    const entries = await page.getByRole('navigation', { name: 'Screens' }).getByRole('link').allTextContents()
    expect(entries).toEqual(['Explore', 'Errors'])
    await page.goto(`${site.url}/console/#/approvals`)
    await page.getByText('This screen needs the scope callplane:approve.').waitFor()

    await page.getByRole('button', { name: 'You and settings' }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Callplane' }).waitFor()
    expect(site.complaints).toEqual([])
  })

  test('a wrong token is refused in the words of the server, and what was typed stays', async () => {
    const page = await site.open()
    const field = page.getByLabel('Token, or link with a code')
    await field.fill('not-a-token')
    await field.press('Enter')

    await page.locator('.problem').waitFor()
    expect(await field.inputValue()).toBe('not-a-token')
  })

  test('a session that ends during a decision asks again above the form, and the decision goes on', async () => {
    const page = await site.open('#/errors')
    await page.getByLabel('Token, or link with a code').fill(TOKENS.operator)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('searchbox').fill('TIME')

    const session = await page.evaluate('sessionStorage.getItem("callplane.session")')
    await fetch(`${site.url}/console/session`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${session}`, origin: site.url },
    })
    await page.getByRole('link', { name: 'Approvals', exact: true }).click()
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
    expect(await page.getByRole('heading', { name: 'Approvals' }).count()).toBe(1)
    await page.getByLabel('Token, or link with a code').fill(TOKENS.operator)
    await page.getByRole('button', { name: 'Sign in' }).click()

    await page.getByText('Nothing waits for you').waitFor()
    expect(site.complaints).toEqual([])
  })

  test('an address of no screen says so', async () => {
    const page = await site.open('#/nowhere', { token: TOKENS.operator })
    await page.getByRole('heading', { name: 'No such place' }).waitFor()
  })

  test('without a server the page says so, and goes on when the server is back', async () => {
    const page = await site.open('#/errors', { token: TOKENS.operator })
    await page.getByRole('link', { name: /^TIMEOUT/ }).waitFor()
    await site.stop()
    await page.getByRole('link', { name: 'Approvals', exact: true }).click()
    await page.getByRole('heading', { name: 'This screen could not be loaded' }).waitFor()
    await site.start()
    await page.getByRole('button', { name: 'Reload the page' }).click()
    await page.getByText('Nothing waits for you').waitFor()
  })

  test('the theme is set before the first paint, by choice or by the system', async () => {
    const page = await site.open('#/errors', { token: TOKENS.operator, colorScheme: 'light' })
    await page.getByRole('heading', { name: 'Errors', exact: true }).waitFor()
    const background = 'getComputedStyle(document.documentElement).backgroundColor'
    const light = await page.evaluate(background)
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('dark theme')
    await page.keyboard.press('Enter')
    const dark = await page.evaluate(background)
    expect(dark).not.toBe(light)

    // The page's own script never runs: what is painted is the work of the blocking script and the styles.
    await page.route('**/assets/index-*.js', (route) => route.abort())
    await page.reload()
    expect(await page.evaluate(background)).toBe(dark)

    const system = await site.open('#/errors', { colorScheme: 'dark' })
    await system.route('**/assets/index-*.js', (route) => route.abort())
    await system.reload()
    expect(await system.evaluate(background)).toBe(dark)
  })
})
