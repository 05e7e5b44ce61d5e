/** Feature 21: a server is killed in the middle of attempts. The timeline of the call shows all of them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { browser, describeWith } from '../engines/engines.ts'
import { temporaryFolder } from '../scenarios/server.ts'
import { count } from './crashing-operation.ts'
import { startConsole } from './site.ts'
import { callAs, TOKENS, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 90_000 })

const PROGRAM = fileURLToPath(new URL('./crashing-server.ts', import.meta.url))

/** Starts a server, gives it something to do if it has nothing, and waits until it has killed itself. */
async function crash(data: string, begin?: (url: string) => Promise<unknown>): Promise<void> {
  const args = ['--conditions=callplane-source', PROGRAM, data, TOKENS.operator]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const dead = once(child, 'exit')
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string]
  await begin?.(url)
  expect((await dead)[1]).toBe('SIGKILL')
}

describeWith(browser, 'the timeline', () => {
  test('feature 21: attempts that a crash cut off are shown, with the one that ended the call', async () => {
    const data = join(temporaryFolder(), 'data')
    mkdirSync(data)
    // The server dies while it runs the call, perhaps before its response has left.
    await crash(data, (url) => callAs(url, 'operator', 'v1:stock.count', {}).catch(() => undefined))
    await crash(data)

    const options = { ...worldOptions(), data, operations: [count(() => undefined)], work: { leaseMs: 1_000 } }
    await using site = await startConsole(options)
    const page = await site.open('#/runs?f=op:v1:stock.count', { token: TOKENS.operator })
    await page.getByRole('link', { name: 'v1:stock.count' }).click()
    await page.locator('.title .status').getByText('Complete').waitFor({ timeout: 30_000 })

    for (const text of ['Attempt 1 was cut off', 'Attempt 2 was cut off', 'Attempt 3 completed'])
      await page.getByRole('link', { name: text }).waitFor()
    expect(await page.locator('.timeline li', { hasText: /^.*Attempt \d/ }).count()).toBe(3)
    expect(site.complaints).toEqual([])
  })
})
