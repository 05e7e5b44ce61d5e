/** The operations that `callplane serve` serves in the workers suite: the usual additions, sync and durable. */
import { jsonSchema, operation, type ServerOptions } from '../../src/index.ts'
import { ADD, ADD_ARGS, ADD_RESULT } from './add-schemas.ts'

type Pair = { a: number; b: number }

const schemas = () => ({
  args: jsonSchema<Pair>(structuredClone(ADD_ARGS)),
  result: jsonSchema<number>({ ...ADD_RESULT }),
})
const run = ({ a, b }: Pair) => a + b

export const server: Partial<ServerOptions> = { log: 'error', requestLog: false }
export const add = operation(ADD, { ...schemas(), run })
export const addLater = operation('v1:Calculator.AddLater', { ...schemas(), model: 'async', run })
