/** Creates ajv for JSON Schema 2020-12 with formats. ajv is loaded on first use, because loading takes about 60 ms. */
import { createRequire } from 'node:module'
import type { Options } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import type { PlainSchema } from '../core/operation/schema.ts'
import {
  forgetFailedTries,
  replaceAnyOf,
  replaceEnum,
  replaceLength,
  replaceUniqueItems,
} from './bounds/frugal-keywords.ts'
import { addMeter, type Meter } from './bounds/meter.ts'
import { isUrl } from './formats.ts'
import { createMatcher } from './patterns/index.ts'

const require = createRequire(import.meta.url)

/** ajv needs `code` only for standalone code in files, which is not used here. */
const regExp = Object.assign((source: string) => createMatcher(source), { code: 'createMatcher' })

/**
 * Unknown keywords and formats are annotations, as the standard requires. `ownProperties`: a field called `constructor`
 * counts only if the object has its own.
 */
const OPTIONS: Options = { strict: false, logger: false, ownProperties: true, code: { regExp } }

/** With a meter, schemas made by `withSteps` are counted on it. */
export function createAjv(options: Options, meter?: Meter): Ajv2020 {
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
  const addFormats = (require('ajv-formats') as typeof import('ajv-formats')).default
  const ajv = new Ajv2020({ ...OPTIONS, ...options })
  addFormats.default(ajv)
  ajv.addFormat('url', isUrl)
  replaceUniqueItems(ajv, meter)
  replaceEnum(ajv, meter)
  replaceAnyOf(ajv)
  replaceLength(ajv)
  if (!options.allErrors) forgetFailedTries(ajv)
  if (meter) addMeter(ajv, meter)
  return ajv
}

/**
 * Ajv2020 always records which fields were evaluated, and for that tries every alternative of `anyOf`. Only the
 * `unevaluated` keywords need that record. The option is read while a schema compiles, because the constructor
 * overrides it.
 */
export function noteEvaluatedFor(ajv: Ajv2020, schema: PlainSchema): void {
  ajv.opts.unevaluated = usesUnevaluated(schema)
}

/** Searches the whole document, including places that only a reference reaches. */
function usesUnevaluated(root: PlainSchema): boolean {
  const seen = new Set<object>()
  const look = (value: unknown): boolean => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return false
    seen.add(value)
    return Object.entries(value).some(
      ([key, member]) => key === 'unevaluatedProperties' || key === 'unevaluatedItems' || look(member),
    )
  }
  return look(root)
}
