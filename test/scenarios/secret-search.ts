/** Searches everything that a server wrote and sent for secrets, in every encoding. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, onTestFinished } from 'vitest'

/** Text, base64 in both alphabets, the usual URL encodings, hex, HTML, and JSON with additional escapes. */
export function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const base64 = bytes.toString('base64').replace(/=+$/, '')
  const form = new URLSearchParams({ v: secret }).toString().slice(2)
  const url = encodeURIComponent(secret)
  const strict = url.replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
  const json = JSON.stringify(secret).slice(1, -1)
  return [
    secret,
    json,
    base64,
    bytes.toString('base64url'),
    url,
    form,
    strict,
    strict.replace(/%../g, (octet) => octet.toLowerCase()),
    encodeURIComponent(strict),
    json.replaceAll('/', '\\/').replaceAll('!', '\\u0021'),
    bytes.toString('hex'),
    secret.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll("'", '&#39;'),
  ]
}

/** Collects the spans and returns their text; removed when the test ends. */
export function registerTraceSdk() {
  const exporter = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  onTestFinished(() => {
    trace.disable()
    context.disable()
  })
  return () =>
    exporter.getFinishedSpans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status }))
}

/** Returns every file in the folder. */
export function contentsOf(folder: string): Written[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((file) => ({ name: relative(folder, file), content: readFileSync(file) }))
}

export interface Written {
  name: string
  content: string | Buffer
}

/** Expects none of these secrets in any encoding. */
export function expectNowhere(secrets: readonly string[], written: readonly Written[]): void {
  for (const form of new Set(secrets.flatMap(formsOf))) {
    const found = written.filter(({ content }) => content.includes(form)).map(({ name }) => name)
    expect({ form, found: [...new Set(found)] }).toEqual({ form, found: [] })
  }
}
