/** `callplane move`: moves the calls of a data folder to Postgres, and its objects to a bucket. */
import { resolve } from 'node:path'
import { moveStore } from '../../server/operate/move/move.ts'
import { parseArguments } from '../arguments.ts'
import { type Command, type CommandIo, EXIT, print, usageFault } from '../command.ts'
import { requirePostgres } from '../serve/store-place.ts'
import { fitted } from '../terminal/text.ts'

export const move: Command = {
  help: `
Usage: callplane move --from <folder> --to <url> [options]

Moves all calls (open and ended, with their ids and attempts), approvals, grants, sealed secrets and audit entries from
the SQLite database of a data folder to an empty Postgres database, and checks them by number and hash. Stop the server
first, and copy the folder. An interrupted move is run again with the same options. Until it is done, no server starts on
the target; from then on, none starts on the source.

Keys and, without --objects, objects stay in the data folder: start the servers with --store and the same --data.

Options:
  --from <folder>        The data folder (default: .callplane). Also CALLPLANE_DATA.
  --to <url>             The Postgres database: postgres://user@host:5432/database. Prefer CALLPLANE_STORE for an
                         address with a password.
  --schema <name>        The schema in the database (default: callplane).
  --objects <url>        Also copies the objects to this bucket: s3://bucket/prefix?region=…&endpoint=…
  --json                 Prints the result as JSON.

Exit codes: 0 moved and checked, 1 it failed, 2 the command is wrong.

Examples:
  callplane move --from .callplane --to postgres://callplane@127.0.0.1/calls
  CALLPLANE_STORE=$DATABASE_URL callplane move --objects s3://calls?region=eu-central-1`,
  async run(io) {
    const { values } = parseArguments(
      io.args,
      {
        from: { type: 'string' },
        to: { type: 'string' },
        schema: { type: 'string' },
        objects: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
      0,
    )
    const to = values.to ?? (io.env.CALLPLANE_STORE || undefined)
    if (to === undefined) throw usageFault('Name the database with --to, or set CALLPLANE_STORE.')
    requirePostgres('--to', to)
    const { clear, progress } = progressOn(io)
    const moved = await moveStore({
      from: resolve(values.from ?? (io.env.CALLPLANE_DATA || '.callplane')),
      to,
      schema: values.schema ?? 'callplane',
      ...(values.objects !== undefined && { objects: values.objects }),
      env: io.env,
      progress,
    }).finally(clear)
    const { calls, histories, aliases, records, auditEntries, objects, sha256 } = moved
    if (values.json) print(io.stdout, JSON.stringify(moved))
    else
      print(
        io.stdout,
        `Moved ${calls} calls (${histories} with a history of attempts), ${aliases} aliases, ${records} records, ${auditEntries} audit entries and ${objects} objects.\nBoth sides have the hash ${sha256}. Start the servers with --store.`,
      )
    return EXIT.ok
  },
}

/** One line that is drawn again, on a terminal only. */
function progressOn({ stderr }: CommandIo) {
  const draw = (text: string) => {
    if (stderr.isTTY) stderr.write(`\r\u001b[2K${fitted(text, (stderr.columns || 80) - 1)}`)
  }
  return { clear: () => draw(''), progress: (what: string, count: number) => draw(`${what} ${count}`) }
}
