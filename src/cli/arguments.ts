/** Parses a command line and reports errors in it. */
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { usageFault } from './command.ts'

type Options = NonNullable<ParseArgsConfig['options']>

/** `most` is the maximum number of positional arguments. */
export function parseArguments<const O extends Options>(args: readonly string[], options: O, most: number) {
  const parsed = parse(args, options)
  const extra = parsed.positionals[most]
  if (extra !== undefined) throw usageFault(`Unexpected argument "${extra}". Remove it.`)
  return parsed
}

function parse<const O extends Options>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true })
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown
    // Node's message continues with advice about "--" that few people need.
    throw usageFault(`${thrown.message.split(/\. |\n/)[0]}.`.replace(/\.\.$/, '.'))
  }
}

export function parseWhole(text: string, what: string, min: number, max: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw usageFault(`${what} must be a whole number from ${min} to ${max}, not "${text}".`)
}
