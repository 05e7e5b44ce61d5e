/** Validates every response against the published schema documents of its dialect. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'vitest'
import otc from './schemas/otc-1.0.openapi.json' with { type: 'json' }
import flat from './schemas/oxp-1.0-flat.openapi.json' with { type: 'json' }
import wrapped from './schemas/oxp-1.0-wrapped.openapi.json' with { type: 'json' }

export type Dialect = 'flat' | 'wrapped' | 'otc'

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
for (const [name, document] of Object.entries({ flat, wrapped, otc })) ajv.addSchema({ $id: name, ...document })

export function expectSchema(dialect: Dialect, pointer: string, value: unknown): void {
  const validate = ajv.getSchema(`${dialect}#${pointer}`)
  expect(validate, `${dialect} has ${pointer}`).toBeDefined()
  validate?.(value)
  expect(validate?.errors ?? [], `${JSON.stringify(value)} against ${dialect}${pointer}`).toEqual([])
}

/** Validates the response to a request on `path`, without a leading `/otc`. */
export function expectValidReply(dialect: Dialect, path: string, status: number, body: unknown): void {
  const method = path === '/tools/call' ? 'post' : 'get'
  if (status === 401 || status === 405) {
    expectSchema(dialect, '/components/schemas/ServerErrorResponse', body)
    return
  }
  const place = `/paths/${path.replaceAll('/', '~1')}/${method}/responses/${status}`
  expectSchema(dialect, `${place}/content/application~1json/schema`, body)
}
