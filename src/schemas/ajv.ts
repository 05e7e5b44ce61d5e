/** ajv for JSON Schema 2020-12 with formats, loaded when the first one is made: that takes about 60 ms. */
import { createRequire } from 'node:module'
import type { Options } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'

const require = createRequire(import.meta.url)

/** Unknown keywords and formats are annotations, as the standard has them; and a field called `constructor` is none unless it is there. */
const OPTIONS: Options = { strict: false, logger: false, ownProperties: true }

export function createAjv(options: Options): Ajv2020 {
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
  const addFormats = (require('ajv-formats') as typeof import('ajv-formats')).default
  const ajv = new Ajv2020({ ...OPTIONS, ...options })
  addFormats.default(ajv)
  return ajv
}
