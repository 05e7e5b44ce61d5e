/** The validators of `v1:Calculator.Add`. Both sides of a comparison use the same kind. */
import { ADD_ARGS, ADD_RESULT } from './add-schemas.ts'

export interface Checks {
  args(value: unknown): boolean
  result(value: unknown): boolean
}

export interface Pair {
  a: number
  b: number
}

export async function createChecks(validator: 'ajv' | 'zod' = 'ajv'): Promise<Checks> {
  if (validator === 'zod') {
    const { args, result } = (await import('./add-zod.ts')).zodSchemas()
    return { args: (value) => args.safeParse(value).success, result: (value) => result.safeParse(value).success }
  }
  const { Ajv2020 } = await import('ajv/dist/2020.js')
  const ajv = new Ajv2020()
  return { args: ajv.compile(ADD_ARGS), result: ajv.compile(ADD_RESULT) }
}

/** A validator as tRPC and similar libraries expect it: it returns the value that it has checked. */
export function parserOf<T>(check: (value: unknown) => boolean): (value: unknown) => T {
  return (value) => {
    if (!check(value)) throw new TypeError('The value does not fit its schema.')
    return value as T
  }
}

/** A validator in the form of Standard Schema. */
export function standardOf<T>(check: (value: unknown) => boolean) {
  return {
    '~standard': {
      version: 1 as const,
      vendor: 'bench',
      validate: (value: unknown) =>
        check(value) ? { value: value as T } : { issues: [{ message: 'The value does not fit its schema.' }] },
    },
  }
}
