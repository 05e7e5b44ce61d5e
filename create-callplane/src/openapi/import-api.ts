/** `--from`: an OpenAPI document becomes YAML files that declare one tool for every operation. */
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { FromOptions } from '../arguments.ts'
import type { ProjectFiles } from '../template.ts'
import { UsageError } from '../usage-error.ts'
import { DeclarationFiles } from './declaration-files.ts'
import { isObject, type Json, type JsonObject, objectAt, textAt } from './json.ts'
import { namespaceOf, ToolNames } from './names.ts'
import { type ApiOperation, type ApiSource, mapOperation, tagOf } from './operation.ts'
import { fetchText, isUrl, parseText, readText } from './read-document.ts'
import { References } from './references.ts'
import { type LeftOut, reportOf, type Summary } from './report.ts'
import { Unmappable } from './unmappable.ts'

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const
const OTHER_METHODS = ['head', 'options', 'trace', 'query']

export async function importApi(
  options: FromOptions,
  current: string,
): Promise<{ files: ProjectFiles; report: string }> {
  const source = await openSource(options, current)
  const names = new ToolNames(source.namespace)
  const declared = new DeclarationFiles()
  const leftOut: LeftOut[] = []
  const notes: LeftOut[] = []
  const secrets = new Map<string, string>()
  for (const found of operationsOf(source, leftOut)) {
    const place = `${found.method.toUpperCase()} ${found.path}`
    try {
      const operationId = textAt(found.value, 'operationId')
      const { name, repeated } = names.take(operationId, found.method, found.path)
      const { declaration, auth, dropped } = mapOperation(name, found, source)
      declared.add(tagOf(found.value), declaration)
      if (repeated) notes.push({ place, reason: `is called ${name}, because its operationId is taken` })
      if (dropped.length > 0)
        notes.push({ place, reason: `does not have the optional ${dropped.join(', ').slice(0, 200)}` })
      if (auth) secrets.set(auth.secretRef, auth.profile)
    } catch (thrown) {
      if (!(thrown instanceof Unmappable)) throw thrown
      leftOut.push({ place, reason: thrown.message })
    }
  }
  const summary: Summary = {
    title: textAt(objectAt(source.document, 'info'), 'title'),
    tools: declared.count,
    secrets,
    leftOut,
    notes,
  }
  if (declared.count === 0)
    throw new UsageError(`No operation of the document can become a tool.\n${reportOf(summary)}`)
  const written = declared.write()
  const list = leftOut.map(({ place, reason }) => `${place}: ${reason}\n`).join('')
  const files = new Map([...written, ...(list === '' ? [] : [['left-out.txt', list] as const])])
  return { files, report: reportOf(summary) }
}

async function openSource(
  { document: place, server, namespace, allowPrivate, results }: FromOptions,
  current: string,
): Promise<ApiSource> {
  const remote = isUrl(place)
  const path = remote ? undefined : resolve(current, place)
  const text = path === undefined ? await fetchText(place) : readText(path)
  const document = checkVersion(parseText(text, place), place)
  const file = path === undefined ? undefined : realpathSync(path)
  return {
    document,
    file: file ?? '',
    base: remote ? place : undefined,
    references: new References(document, file),
    namespace: namespaceOf(textAt(objectAt(document, 'info'), 'title'), namespace),
    server: server === undefined ? undefined : checkServer(server),
    allowPrivate,
    results,
  }
}

function checkVersion(document: Json, place: string): JsonObject {
  const version = textAt(document, 'openapi')
  if (isObject(document) && version !== undefined && /^3\.[01]\b/.test(version)) return document
  if (textAt(document, 'swagger') !== undefined) {
    throw new UsageError(`${place} is Swagger 2.0. Convert it to OpenAPI 3 first, such as with swagger2openapi.`)
  }
  throw new UsageError(`${place} is not an OpenAPI 3.0 or 3.1 document: it must begin with openapi: 3.1.0.`)
}

function checkServer(server: string): string {
  const url = URL.parse(server)
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && url.hash === '')
    return url.href
  throw new UsageError('--server must be the address of the API, such as https://api.example/v1.')
}

function* operationsOf({ document, file: root, references }: ApiSource, leftOut: LeftOut[]): Iterable<ApiOperation> {
  for (const [path, given] of Object.entries(objectAt(document, 'paths'))) {
    if (!path.startsWith('/')) {
      if (!path.startsWith('x-'))
        leftOut.push({ place: path.slice(0, 200), reason: 'the path does not begin with "/"' })
      continue
    }
    let item: { value: Json | undefined; file: string }
    try {
      item = references.follow(given, root)
    } catch (thrown) {
      if (!(thrown instanceof Unmappable)) throw thrown
      leftOut.push({ place: path, reason: thrown.message })
      continue
    }
    const { value: pathItem, file } = item
    if (!isObject(pathItem)) continue
    for (const method of METHODS) {
      const value = Object.hasOwn(pathItem, method) ? pathItem[method] : undefined
      if (isObject(value)) yield { method, path, value, pathItem, file }
    }
    for (const method of OTHER_METHODS) {
      if (Object.hasOwn(pathItem, method))
        leftOut.push({ place: `${method.toUpperCase()} ${path}`, reason: 'tools are GET, POST, PUT, PATCH and DELETE' })
    }
  }
  const hooks = Object.keys(objectAt(document, 'webhooks'))
  for (const hook of hooks) leftOut.push({ place: `webhook ${hook}`, reason: 'the API calls it, and not its users' })
}
