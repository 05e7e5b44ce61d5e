/** ajv for JSON Schema 2020-12 with formats, loaded when the first one is made: that takes about 60 ms. */
import { createRequire } from 'node:module'
import type { Options } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import type { PlainSchema } from '../core/schema.ts'
import { forgetFailedTries, replaceAnyOf, replaceEnum, replaceUniqueItems } from './bounds/frugal-keywords.ts'
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
  replaceEnum(ajv, meter)
  replaceAnyOf(ajv)
  if (!options.allErrors) forgetFailedTries(ajv)
  if (meter) addMeter(ajv, meter)
  return ajv
}

/**
 * Ajv2020 always notes which fields were looked at, and tries every alternative of `anyOf` for it. Only the `unevaluated`
 * keywords need those notes. The option is read while a schema compiles; the constructor overrides it.
 */
export function noteEvaluatedFor(ajv: Ajv2020, schema: PlainSchema): void {
  ajv.opts.unevaluated = usesUnevaluated(schema)
}

/** Everywhere in the document, also where only a reference would look. */
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
