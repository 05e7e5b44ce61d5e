/** A module for the typed client. Types of the operations are left to the reader. */
import { isKeyed } from '../wires/opencall.ts'
import { plainJson, quoted } from './quoting.ts'
import type { Snippet, SnippetCall } from './snippet.ts'

export const typescript: Snippet = {
  id: 'typescript',
  title: 'TypeScript',
  write(call) {
    const { files, url, withToken, entry } = call
    const options = [`url: ${quoted(url)}`, ...(withToken ? ['token: process.env.CALLPLANE_TOKEN'] : [])]
    return [
      ...(files.length > 0 ? ["import { openAsBlob } from 'node:fs'"] : []),
      "import { createClient } from 'callplane/client'",
      '',
      `const api = createClient({ ${options.join(', ')} })`,
      ...(entry.executionModel === 'stream' ? streamOf(call) : resultOf(call)),
    ].join('\n')
  },
}

function argumentsOf(call: SnippetCall): string {
  const { entry, argsText, files, idempotencyKey } = call
  const options = [
    ...(isKeyed(entry) ? [`idempotencyKey: ${quoted(idempotencyKey)}`] : []),
    ...(files.length > 0 ? [`media: { ${files.map(fileOf).join(', ')} }`] : []),
  ]
  const parts = [quoted(entry.op), plainJson(argsText), ...(options.length > 0 ? [`{ ${options.join(', ')} }`] : [])]
  return parts.join(', ')
}

function fileOf({ name, path, mimeType }: SnippetCall['files'][number]): string {
  return `${quoted(name)}: await openAsBlob(${quoted(path)}, { type: ${quoted(mimeType)} })`
}

function resultOf(call: SnippetCall): string[] {
  if (call.entry.chunked) return [`console.log(await api.call(${argumentsOf(call)}).text())`]
  return [`const result = await api.call(${argumentsOf(call)})`, 'console.log(JSON.stringify(result))']
}

function streamOf(call: SnippetCall): string[] {
  const { entry, argsText } = call
  const [, major = 'v1', path = ''] = /^(v\d+):(.*)$/.exec(entry.op) ?? []
  const names = [major, ...path.split('.')].map((name) =>
    /^[A-Za-z]\w*$/.test(name) ? `.${name}` : `[${quoted(name)}]`,
  )
  return [`for await (const frame of api${names.join('')}(${plainJson(argsText)})) console.log(JSON.stringify(frame))`]
}
