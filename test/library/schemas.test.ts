/** Each schema library, and plain JSON Schema, in an operation behind a real server. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type } from 'arktype'
import { createServer, jsonSchema, type OperationDefinition, operation } from 'callplane'
import * as v from 'valibot'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

interface Order {
  item: string
  count: number
}

const run = ({ item, count }: Order) => ({ text: `${count} × ${item}` })

const LIBRARIES: Record<string, OperationDefinition> = {
  'zod 4': operation('v1:orders.price', {
    args: z.object({ item: z.string(), count: z.int().min(1).default(1) }),
    result: z.object({ text: z.string() }),
    run,
  }),
  valibot: operation('v1:orders.price', {
    args: v.object({ item: v.string(), count: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)), 1) }),
    result: v.object({ text: v.string() }),
    run,
  }),
  arktype: operation('v1:orders.price', {
    args: type({ item: 'string', count: 'number.integer >= 1 = 1' }),
    result: type({ text: 'string' }),
    run,
  }),
  'JSON Schema': operation('v1:orders.price', {
    args: jsonSchema<Order>({
      type: 'object',
      required: ['item'],
      properties: { item: { type: 'string' }, count: { type: 'integer', minimum: 1, default: 1 } },
    }),
    result: jsonSchema<{ text: string }>({
      type: 'object',
      required: ['text'],
      properties: { text: { type: 'string' } },
    }),
    run,
  }),
}

async function serve(...operations: OperationDefinition[]) {
  const data = mkdtempSync(join(tmpdir(), 'callplane-library-'))
  const server = await createServer({ operations, data })
  const { url } = await server.listen({ port: 0 })
  onTestFinished(async () => {
    await server.close(0)
    rmSync(data, { recursive: true })
  })
  const call = async (op: string, args: object) => {
    const headers = { 'Content-Type': 'application/json' }
    const response = await fetch(`${url}/call`, { method: 'POST', headers, body: JSON.stringify({ op, args }) })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  return { url, call }
}

test.each(Object.entries(LIBRARIES))(
  '%s: called, defaulted, refused with the path, and published',
  async (_name, op) => {
    const { url, call } = await serve(op)

    const full = await call('v1:orders.price', { item: 'tea', count: 2 })
    const defaulted = await call('v1:orders.price', { item: 'tea' })
    const refused = await call('v1:orders.price', { item: 7, count: 0 })
    const listed = (await (await fetch(`${url}/.well-known/ops`)).json()) as { operations: Record<string, unknown>[] }

    expect(full).toMatchObject({ status: 200, body: { state: 'complete', result: { text: '2 × tea' } } })
    expect(defaulted.body).toMatchObject({ result: { text: '1 × tea' } })
    expect(refused).toMatchObject({ status: 400, body: { state: 'error', error: { code: 'VALIDATION_ERROR' } } })
    const { issues } = (refused.body.error as { cause: { issues: { path: string; message: string }[] } }).cause
    expect(issues.map(({ path }) => path).sort()).toEqual(['/count', '/item'])
    expect(listed.operations).toMatchObject([
      {
        op: 'v1:orders.price',
        argsSchema: {
          type: 'object',
          required: ['item'],
          properties: { item: { type: 'string' }, count: { type: 'integer', minimum: 1 } },
        },
        resultSchema: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
      },
    ])
  },
)

test.each(Object.entries(LIBRARIES))('%s: a result that breaks its schema is not sent', async (_name, op) => {
  const { call } = await serve({ ...op, run: () => ({ text: 7, secret: 'internal' }) })

  const { status, body } = await call('v1:orders.price', { item: 'tea' })

  expect(status).toBe(500)
  expect(body).toMatchObject({ state: 'error' })
  expect(JSON.stringify(body)).not.toContain('internal"')
})
