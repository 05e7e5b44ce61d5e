/** `callplane login-link`: prints a link that opens the console of a running server. */
import { isJsonObject, type JsonValue } from '../../core/json.ts'
import { parseArguments } from '../arguments.ts'
import { ADMINISTRATION_HELP, ADMINISTRATION_OPTIONS, remoteFor } from '../client/administration.ts'
import { type Command, EXIT, print, unreachableFault, usageFault } from '../command.ts'
import { loginPath } from '../serve/login-path.ts'

export const loginLink: Command = {
  help: `
Usage: callplane login-link [options]

Prints a link that opens the console and logs you in. It works once, for ten minutes. It needs the administrator's token
in the data folder, or a token with the scope callplane:admin. The session can see and operate everything that the
console shows, but it cannot administer the server.

Options:
  --read-only            The session can change nothing.
  --json                 Prints the link and its end as JSON.
${ADMINISTRATION_HELP}

Exit codes: 0 done, 2 the command or the credential is wrong, 3 no server responds.

Examples:
  callplane login-link
  callplane login-link --read-only --url https://tools.example`,
  async run(io) {
    const { values } = parseArguments(
      io.args,
      {
        ...ADMINISTRATION_OPTIONS,
        json: { type: 'boolean', default: false },
        'read-only': { type: 'boolean', default: false },
      },
      0,
    )
    const server = remoteFor(values, io)
    const response = await server.fetch('/console/codes', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(values['read-only'] ? { readOnly: true } : {}),
    })
    const { code, expiresAt } = readCode(response.status, await response.text())
    const url = server.url + loginPath(code)
    print(io.stdout, values.json ? JSON.stringify({ url, expiresAt }) : url)
    return EXIT.ok
  },
}

function readCode(status: number, text: string): { code: string; expiresAt: string } {
  if (status === 401 || status === 403)
    throw usageFault(
      'The server does not let this credential create a login link. Name the data folder of the server with --data, or use a token with the scope callplane:admin.',
    )
  const answer = parse(text)
  const { code, expiresAt } = isJsonObject(answer) ? answer : {}
  if (status === 201 && typeof code === 'string' && typeof expiresAt === 'string') return { code, expiresAt }
  throw unreachableFault(
    'The server has no console. It may be switched off, or another program responds at this address.',
  )
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    // Another program responded.
    return undefined
  }
}
