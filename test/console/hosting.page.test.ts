/** The built page in Chromium, wherever a program mounts the server: it starts, signs in, calls, streams and leads home. */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { type CallplaneServer, createServer, type ServerOptions } from 'callplane'
import express from 'express'
import { Hono } from 'hono'
import { expect, onTestFinished, test, vi } from 'vitest'
import { add, watchWaves } from '../../examples/quickstart/operations.ts'
import { buildConsole } from '../../scripts/console-files.ts'
import { openChromium } from '../engines/chromium.ts'
import { browser, describeWith } from '../engines/engines.ts'
import { temporaryFolder } from '../scenarios/server.ts'

vi.setConfig({ testTimeout: 60_000 })

interface Host {
  basePath?: string
  /** The server's address, as a browser sees it. */
  open(callplane: CallplaneServer): Promise<string>
}

async function listen(http: ReturnType<typeof createHttpServer>, path: string): Promise<string> {
  await once(http.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void http.close().closeAllConnections())
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}${path}`
}

const HOSTS: Record<string, Host> = {
  'at the root': { open: async (callplane) => (await callplane.listen({ port: 0 })).url },
  'below a path': {
    basePath: '/deep/base',
    open: async (callplane) => new URL('/deep/base', (await callplane.listen({ port: 0 })).url).href,
  },
  'in Express': {
    basePath: '/mounted/at',
    open: (callplane) => listen(createHttpServer(express().use('/mounted/at', callplane.listener)), '/mounted/at'),
  },
  'in a Fetch handler': {
    basePath: '/api',
    async open(callplane) {
      const app = new Hono().mount('/api', callplane.fetch)
      const http = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
      await once(http, 'listening')
      onTestFinished(() => void http.close())
      return `http://127.0.0.1:${(http.address() as AddressInfo).port}/api`
    },
  },
}

describeWith(browser, 'the page', () => {
  test.for(Object.entries(HOSTS))('%s', async ([, { basePath, open }]) => {
    await buildConsole()
    const options: ServerOptions = {
      operations: [add, watchWaves],
      data: temporaryFolder(),
      ...(basePath && { basePath }),
    }
    const callplane = await createServer(options)
    onTestFinished(() => callplane.close(0))
    const url = await open(callplane)
    const chromium = await openChromium()
    onTestFinished(() => chromium.close())
    const page = await chromium.newPage()
    page.setDefaultTimeout(15_000)
    const wrong: string[] = []
    page.on('request', (request) => request.url().startsWith(`${url}/`) || wrong.push(request.url()))
    page.on('response', (response) => response.status() >= 400 && wrong.push(`${response.status()} ${response.url()}`))
    page.on('pageerror', ({ message }) => wrong.push(message))
    page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()))
    const run = page.getByRole('button', { name: 'Run', exact: true })

    const { code } = (await callplane.loginCode()) ?? {}
    await page.goto(`${url}/console/#/login?code=${code}&to=%23%2Fop%2Fv1:Calculator.Add`)
    await run.click()
    await page.getByText('Complete', { exact: true }).waitFor()
    expect(await page.getByLabel('Result', { exact: true }).innerText()).toMatch(/\b3\b/)
    await page.goto(`${url}/console/#/op/v1:Waves.Watch`)
    await run.click()
    await page.getByRole('link', { name: 'Open stream' }).click()
    await page.locator('.code-row', { hasText: '"n":3' }).waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.locator('.stream-detail .title .status').getByText('Complete').waitFor()
    await page.getByRole('link', { name: 'Runs', exact: true }).click()
    // The list of streams, which also has this link, is gone then.
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
    await page.getByRole('link', { name: 'v1:Waves.Watch' }).waitFor()
    await page.goto(`${url}/explorer/`)
    await page.getByRole('heading', { name: 'v1:Calculator.Add' }).waitFor()

    expect(wrong).toEqual([])
  })
})
