/** `callplane token`: a new token and the hash of it. */
import { createToken } from '../../security/identity/tokens.ts'
import { parseArguments } from '../arguments.ts'
import { type Command, EXIT, print } from '../command.ts'

export const token: Command = {
  help: `
Usage: callplane token [--json]

Give the token to whoever calls; it is shown here and nowhere else. Put the hash into the server's configuration, or
the token itself into CALLPLANE_TOKEN for a server with one all-powerful caller.

Examples:
  callplane token
  export CALLPLANE_TOKEN=$(callplane token --json | jq -r .token)`,
  async run(io) {
    const { values } = parseArguments(io.args, { json: { type: 'boolean', default: false } }, 0)
    const made = createToken()
    print(io.stdout, values.json ? JSON.stringify(made) : `token  ${made.token}\nhash   ${made.hash}`)
    return EXIT.ok
  },
}
