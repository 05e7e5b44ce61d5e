/** `--args file`: the arguments for operations, as JSON. The checks may call every operation that the file names. */
import { readFile } from 'node:fs/promises'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Example } from '../../testing/conformance/index.ts'
import { usageFault } from '../command.ts'

const MEMBERS = ['args', 'result', 'fails', 'small', 'content', 'takesMs', 'counts', 'digest', 'guarded', 'versions']

export async function readExamples(file: string): Promise<Record<string, Example>> {
  const text = await readFile(file, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    throw usageFault(`Cannot read ${file}: ${thrown.code ?? thrown.message}.`, thrown)
  })
  const value = parse(text, file)
  if (!isJsonObject(value)) throw usageFault(`${file} must be an object: { "v1:orders.get": { "args": { … } } }.`)
  return Object.fromEntries(Object.entries(value).map(([op, example]) => [op, readExample(op, example, file)]))
}

function readExample(op: string, example: JsonValue, file: string): Example {
  const where = `${op} in ${file}`
  if (!isJsonObject(example) || !isJsonObject(example.args)) {
    throw usageFault(`${where} needs "args", an object: { "args": { "id": "42" } }.`)
  }
  const unknown = Object.keys(example).find((name) => !MEMBERS.includes(name))
  if (unknown !== undefined) throw usageFault(`${where} has "${unknown}". It may have ${MEMBERS.join(', ')}.`)
  const { fails } = example
  if (fails !== undefined && !isJsonObject((fails as JsonObject).args)) {
    throw usageFault(`"fails" of ${where} needs "args", an object.`)
  }
  return example as unknown as Example
}

function parse(text: string, file: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch (cause) {
    throw usageFault(`${file} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, cause)
  }
}
