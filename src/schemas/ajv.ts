/** ajv for JSON Schema 2020-12 with formats, loaded when the first one is made: that takes about 60 ms. */
import { createRequire } from 'node:module'
import type { Options } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { forgetFailedTries, replaceUniqueItems } from './bounds/frugal-keywords.ts'
import { addMeter, type Meter } from './bounds/meter.ts'
import { isUrl } from './formats.ts'
import { createMatcher } from './patterns/index.ts'

const require = createRequire(import.meta.url)

/** ajv wants the name of the engine for code that is written to files, which is not done here. */
const regExp = Object.assign((source: string) => createMatcher(source), { code: 'createMatcher' })

/** Unknown keywords and formats are annotations, as the standard has them; and a field called `constructor` is none unless it is there. */
const OPTIONS: Options = { strict: false, logger: false, ownProperties: true, code: { regExp } }

/** With a meter, schemas made by `withSteps` count on it. */
export function createAjv(options: Options, meter?: Meter): Ajv2020 {
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
  const addFormats = (require('ajv-formats') as typeof import('ajv-formats')).default
  const ajv = new Ajv2020({ ...OPTIONS, ...options })
  addFormats.default(ajv)
  ajv.addFormat('url', isUrl)
  replaceUniqueItems(ajv, meter)
  if (!options.allErrors) forgetFailedTries(ajv)
  if (meter) addMeter(ajv, meter)
  return ajv
}
