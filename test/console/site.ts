/** A real server, the built page in front of it, and Chromium. Foreign requests and reports of the policy are collected. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CallplaneServer, createServer, type ServerOptions } from 'callplane'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { openChromium } from '../engines/chromium.ts'
import { buildPage } from './build.ts'
import { serveStatic } from './static-site.ts'

export interface ConsoleSite extends AsyncDisposable {
  /** The address of the server; the page is at `/explorer/` and `/console/` below it. */
  readonly url: string
  readonly server: CallplaneServer
  readonly browser: Browser
  /** Requests to other hosts, breaches of the policy, and errors of the page's scripts: all must stay empty. */
  readonly complaints: string[]
  /** A fresh browser context at a fragment: `open('#/runs')`. */
  open(fragment?: string, options?: OpenOptions): Promise<Page>
}

export interface OpenOptions extends BrowserContextOptions {
  at?: 'explorer' | 'console'
  /** The tab is signed in with this token already. */
  token?: string
}

export async function startConsole<App>(options: ServerOptions<App>, pageRoot?: string): Promise<ConsoleSite> {
  const data = options.data ?? mkdtempSync(join(tmpdir(), 'callplane-console-'))
  const page = await buildPage(pageRoot)
  const server = await createServer<App>({ ...options, data })
  const { url: inner } = await server.listen({ port: 0 })
  const site = await serveStatic(page.folder, inner)
  const browser = await openChromium()
  const complaints: string[] = []
  return {
    url: site.url,
    server,
    browser,
    complaints,
    async open(fragment = '', { at = 'console', token, ...more } = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...more })
      if (token)
        await context.addInitScript(
          `sessionStorage.getItem('callplane.session') ?? sessionStorage.setItem('callplane.session', '${token}')`,
        )
      const opened = await context.newPage()
      watch(opened, site.url, complaints)
      await opened.goto(`${site.url}/${at}/${fragment}`)
      return opened
    },
    async [Symbol.asyncDispose]() {
      await browser.close()
      await site[Symbol.asyncDispose]()
      await server.close(0)
      page[Symbol.dispose]()
      rmSync(data, { recursive: true, force: true })
    },
  }
}

function watch(page: Page, own: string, complaints: string[]): void {
  page.on('request', (request) => {
    // The browser's own viewer of PDF files is an extension of it.
    if (!/^(?:blob|data|chrome|chrome-extension):/.test(request.url()) && !request.url().startsWith(own))
      complaints.push(`request to ${request.url()}`)
  })
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (/Content Security Policy|Trusted ?Type/i.test(message.text())) complaints.push(message.text())
  })
}
