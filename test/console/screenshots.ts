/**
 * Takes a picture of every screen, in both themes and three widths:
 * `npm run screenshots -- folder [part of a name]`. A person looks at them. `npm run screenshots -- docs/images` takes only
 * those of the documentation.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { type ConsoleSite, startConsole } from './site.ts'
import { doSomeWork, someRuns, subscribeAs, TOKENS, waitingApproval, worldOptions } from './world.ts'

const [folder = 'dist/screenshots', part = ''] = process.argv.slice(2)
/** The pictures of the documentation. */
const SHOWN = [
  'operation-light-1280',
  'run-light-1280',
  'runs-dark-1280',
  'approval-dark-1280',
  'dead-light-1280',
  'approval-light-360',
]
const onlyShown = folder === 'docs/images'
const SIZES = [
  { width: 360, height: 740 },
  { width: 768, height: 900 },
  { width: 1280, height: 800 },
]
const SCREENS: Record<string, string> = {
  explore: '#/',
  operation: '#/op/v1%3AReports.Generate',
  runs: '#/runs',
  dead: '#/dead',
  health: '#/health',
  audit: '#/audit',
  approvals: '#/approvals',
  errors: '#/errors',
  error: '#/errors/TIMEOUT',
  streams: '#/streams',
  settings: '#/settings',
  export: '#/runs?f=state:error',
  own: '#/op/v1:Waves.Watch',
}
/** What a person does on a screen before the picture. */
const BEFORE: Record<string, (page: Page) => Promise<void>> = {
  async export(page) {
    await page.getByRole('button', { name: 'Export runs' }).click()
  },
  async own(page) {
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('Streaming', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Open stream' }).click()
    await page.getByText(/^[3-9]\d frames/).waitFor()
  },
}

async function picture(site: ConsoleSite, name: string, fragment: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await site.open(fragment, { colorScheme, token: TOKENS.operator })
    await page.waitForSelector('main')
    await BEFORE[name]?.(page)
    for (const viewport of SIZES) {
      const title = `${name}-${colorScheme}-${viewport.width}`
      if (onlyShown && !SHOWN.includes(title)) continue
      await page.setViewportSize(viewport)
      // The page always waits for changes, so its network is never idle.
      await page.locator('.skeletons, .starting').first().waitFor({ state: 'detached' })
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      await page.screenshot({ path: join(folder, `${title}.png`) })
    }
    await page.context().close()
  }
}

mkdirSync(folder, { recursive: true })
await using site = await startConsole(worldOptions())
await doSomeWork(site.url)
const [failed, other] = await someRuns(site.url)
SCREENS.stream = `#/streams/${await subscribeAs(site.url, 'support', 'v1:Waves.Watch', {})}`
SCREENS.run = `#/run/${failed}`
SCREENS.peek = `#/runs?peek=${failed}`
SCREENS.compare = `#/compare/${failed}/${other}`
SCREENS.approval = `#/approvals/${await waitingApproval(site.url, 'A-1003')}`
SCREENS.unread = `#/approvals/${await waitingApproval(site.url, 'A-1004')}`
for (const [name, fragment] of Object.entries(SCREENS)) if (name.includes(part)) await picture(site, name, fragment)
for (const complaint of site.complaints) console.error(complaint)
