/** `callplane doctor`: finds what is wrong with a database, a data folder or a bucket before a server uses it. */
import { examineServer, type Finding } from '../../server/operate/doctor.ts'
import { parseArguments } from '../arguments.ts'
import { type Command, EXIT, print } from '../command.ts'
import { placeOf, requirePostgres, STORE_HELP, STORE_OPTIONS } from '../serve/store-place.ts'
import { plainLine } from '../terminal/text.ts'

export const doctor: Command = {
  help: `
Usage: callplane doctor [options]

Examines what a server with the same options would use: settings, clock, schema, rights, old transactions and poolers of
its database; keys and space of its data folder; its bucket. It changes nothing, except for one object in the bucket that
it writes and removes. Run it on the machine and as the user of the server.

Options:
  --objects <url>        The bucket: s3://bucket/prefix?region=…&endpoint=… Also CALLPLANE_OBJECTS.
  --listen-url <url>     The direct address of the database, if --store names a pooler.
  --json                 Prints one JSON object for each finding.
${STORE_HELP}

Exit codes: 0 no problem (there may be warnings), 1 at least one problem, 2 the command is wrong.

Examples:
  callplane doctor --store postgres://callplane@db.example/calls --objects s3://calls?region=eu-central-1
  callplane doctor --data /var/lib/callplane`,
  async run(io) {
    const { values } = parseArguments(
      io.args,
      {
        ...STORE_OPTIONS,
        objects: { type: 'string' },
        'listen-url': { type: 'string' },
        json: { type: 'boolean', default: false },
      },
      0,
    )
    const listenUrl = values['listen-url']
    if (listenUrl !== undefined) requirePostgres('--listen-url', listenUrl)
    const objects = values.objects ?? (io.env.CALLPLANE_OBJECTS || undefined)
    const found = await examineServer({
      ...placeOf(values, io),
      ...(listenUrl !== undefined && { listenUrl }),
      ...(objects !== undefined && { objects }),
      env: io.env,
    })
    for (const finding of found) print(io.stdout, values.json ? JSON.stringify(finding) : describe(finding))
    return found.some(({ level }) => level === 'problem') ? EXIT.failed : EXIT.ok
  },
}

const MARKS = { fine: 'ok     ', warning: 'warning', problem: 'PROBLEM' } as const

function describe({ level, about, what, advice }: Finding): string {
  const line = `${MARKS[level]}  ${about.padEnd(13)}  ${plainLine(what)}`
  return advice === undefined ? line : `${line}\n${' '.repeat(24)}${plainLine(advice)}`
}
