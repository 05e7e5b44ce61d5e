/** A built page as `npm run build` leaves it, but tiny, served on every kind of host. */
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import express from 'express'
import { onTestFinished } from 'vitest'
import { createFetchHandler } from '../../src/carriers/fetch/index.ts'
import { createRequestListener } from '../../src/carriers/http/index.ts'
import type { Exchange, Refusal, Route } from '../../src/core/ports/exchange.ts'
import { refusalAnswer } from '../../src/protocols/rest/answers.ts'
import { createExplorerRoutes } from '../../src/protocols/rest/index.ts'
import { openConsolePage } from '../../src/server/console/page-routes.ts'
import { temporaryFolder } from '../scenarios/server.ts'

export const SCRIPT = `console.log(${JSON.stringify('x'.repeat(500))})\n`
const INDEX = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Callplane</title>
<script type="module" src="./assets/app-1a2b3c4d.js"></script></head>
<body><div id="app"></div>
</body></html>
`

export function buildPage(): string {
  const folder = join(temporaryFolder(), 'console')
  mkdirSync(join(folder, 'assets/deep'), { recursive: true })
  writeFileSync(join(folder, 'index.html'), INDEX)
  writeFileSync(join(folder, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  writeFileSync(join(folder, '.sources'), 'a hash')
  writeFileSync(join(folder, 'assets/app-1a2b3c4d.js'), SCRIPT)
  writeFileSync(join(folder, 'assets/app-1a2b3c4d.js.br'), brotliCompressSync(SCRIPT))
  writeFileSync(join(folder, 'assets/app-1a2b3c4d.js.gz'), gzipSync(SCRIPT))
  writeFileSync(join(folder, 'assets/deep/style-9.css'), 'a{}')
  writeFileSync(join(folder, '../secret.txt'), 'not for anybody')
  symlinkSync(join(folder, '../secret.txt'), join(folder, 'assets/linked.txt'))
  return folder
}

export interface Tool {
  name: string
  description: string
}

/** `folder` without an index: the page was not built. */
export function pageRoutes(folder: string, tools: readonly Tool[] = [], title = 'Tools'): Route[] {
  const refuse = (_exchange: Exchange, why: Refusal) => refusalAnswer(why)
  const page = openConsolePage('/explorer', refuse, folder)
  const settings = { title, allowExecute: false, ...(page && { frame: page.frame }) }
  return [...createExplorerRoutes({ list: () => tools }, '/explorer', settings), ...(page?.routes ?? [])]
}

export interface Got {
  status: number
  headers: Record<string, string | undefined>
  body: Buffer
  text: string
}

/** Sends the path as it is: `fetch` would resolve `..` first, and would decompress. */
export type Ask = (path: string, headers?: Record<string, string>, method?: string) => Promise<Got>

const fallback = (_exchange: Exchange, why: Refusal) => refusalAnswer(why)

/** Each with the path that the routes are below. */
export const HOSTS: readonly [string, (routes: Route[]) => Promise<Ask>][] = [
  ['at the root of node:http', (routes) => listen(createRequestListener(routes, { fallback }))],
  [
    'below a base path',
    (routes) => listen(createRequestListener(routes, { fallback, basePath: '/deep/base' }), '/deep/base'),
  ],
  [
    'in Express',
    (routes) => listen(express().use('/mounted/at', createRequestListener(routes, { fallback })), '/mounted/at'),
  ],
  ['in a Fetch handler', (routes) => fetching(createFetchHandler(routes, { fallback, prefix: '/api' }), '/api')],
]

async function listen(listener: RequestListener, base = ''): Promise<Ask> {
  const http = createServer(listener)
  await once(http.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void http.close().closeAllConnections())
  const { port } = http.address() as AddressInfo
  return async (path, headers = {}, method = 'GET') => {
    const asked = send({ host: '127.0.0.1', port, path: base + path, headers, method })
    asked.end()
    const [response] = await once(asked, 'response')
    const body = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>))
    return { status: response.statusCode, headers: response.headers, body, text: body.toString() }
  }
}

async function fetching(handle: (request: Request) => Promise<Response>, base: string): Promise<Ask> {
  return async (path, headers = {}, method = 'GET') => {
    const response = await handle(new Request(`http://tools.example${base}${path}`, { headers, method }))
    const body = Buffer.from(await response.arrayBuffer())
    return { status: response.status, headers: Object.fromEntries(response.headers), body, text: body.toString() }
  }
}
