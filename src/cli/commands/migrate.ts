/** `callplane migrate`: shows or applies the migrations that a store lacks. */
import { applySchema, readSchemaOf, type SchemaState, type StorePlace } from '../../server/operate/schemas.ts'
import { parseArguments } from '../arguments.ts'
import { type Command, type CommandIo, EXIT, print, usageFault } from '../command.ts'
import { placeOf, STORE_HELP, STORE_OPTIONS } from '../serve/store-place.ts'

export const migrate: Command = {
  help: `
Usage: callplane migrate --check [options]
       callplane migrate --apply [options]

A server applies the migrations of its store when it starts. To apply them before, run this command and start the servers
with --no-migrate. Each migration leaves the schema usable by the version before, so servers of both versions can run
meanwhile.

Options:
  --check                Prints the version of the schema and the statements that would run. Changes nothing.
  --apply                Applies what is missing. Several at once are harmless: one of them does it.
  --json                 Prints the result as JSON.
${STORE_HELP}

Exit codes: 0 up to date, 1 migrations are pending or the schema needs a newer program, 2 the command is wrong.

Examples:
  callplane migrate --check --store postgres://callplane@db.example/calls
  CALLPLANE_STORE=$DATABASE_URL callplane migrate --apply`,
  async run(io) {
    const { values } = parseArguments(
      io.args,
      {
        ...STORE_OPTIONS,
        check: { type: 'boolean', default: false },
        apply: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
      0,
    )
    if (values.check === values.apply) throw usageFault('Pass --check or --apply.')
    const place = placeOf(values, io)
    return values.check ? checkSchema(place, values.json, io) : apply(place, values.json, io)
  },
}

async function checkSchema(place: StorePlace, json: boolean, { stdout }: CommandIo): Promise<number> {
  const state = await readSchemaOf(place)
  const isNewer = state.needs > state.known
  if (json) print(stdout, JSON.stringify(state))
  else print(stdout, describe(state, isNewer))
  return isNewer || state.pending.length > 0 ? EXIT.failed : EXIT.ok
}

async function apply(place: StorePlace, json: boolean, { stdout }: CommandIo): Promise<number> {
  const { version: before, shown } = await readSchemaOf(place)
  const version = await applySchema(place)
  if (json) print(stdout, JSON.stringify({ shown, before, version }))
  else if (before === version) print(stdout, `${shown} has version ${version} and lacks nothing.`)
  else print(stdout, `${shown}: version ${before} became version ${version}.`)
  return EXIT.ok
}

function describe({ shown, version, needs, known, pending }: SchemaState, isNewer: boolean): string {
  const head = `${shown} has version ${version}. This program knows version ${known}.`
  if (isNewer) return `${head} The schema needs a program that knows version ${needs}: start the newer one.`
  if (pending.length === 0)
    return version > known ? `${head} It can use the newer schema.` : `${head} Nothing is pending.`
  const parts = pending.map(({ version: number, needs: oldest, sql }) =>
    `-- Migration ${number}. Afterwards a program must know version ${oldest} at least.\n${sql.trim()}`.trimEnd(),
  )
  return [`${head} ${pending.length} pending. This would run:`, '', ...parts].join('\n')
}
