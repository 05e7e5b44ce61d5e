/** Searches everything a server wrote and said for secrets, in every form that encodings give them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, onTestFinished } from 'vitest'

/** As text, base64 of both alphabets, and URL-encoded in both ways; and the inside of the pair's base64. */
export function formsOf(secret: string): string[] {
  const base64 = Buffer.from(secret).toString('base64').replace(/=+$/, '')
  const form = new URLSearchParams({ v: secret }).toString().slice(2)
  const url = encodeURIComponent(secret)
  return [secret, JSON.stringify(secret).slice(1, -1), base64, Buffer.from(secret).toString('base64url'), url, form]
}

/** Gives back what the spans say; gone when the test is. */
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

/** Every file below it. */
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

/** None of these in any form. */
export function expectNowhere(secrets: readonly string[], written: readonly Written[]): void {
  for (const form of new Set(secrets.flatMap(formsOf))) {
    const found = written.filter(({ content }) => content.includes(form)).map(({ name }) => name)
    expect({ form, found: [...new Set(found)] }).toEqual({ form, found: [] })
  }
}
