/** `callplane token`: creates a token and its hash. */
import { createToken } from '../../security/identity/tokens.ts'
import { parseArguments } from '../arguments.ts'
import { type Command, EXIT, print } from '../command.ts'

export const token: Command = {
  help: `
Usage: callplane token [--json]

Give the token to the caller; it is shown only once. Put the hash into the server's configuration, or put
the token itself into CALLPLANE_TOKEN for a server with a single caller that may do everything.

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
