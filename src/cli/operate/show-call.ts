/** `callplane runs show`: one call, and its arguments and outcome if they are asked for. */
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { administer } from '../client/administration.ts'
import type { Remote } from '../client/remote.ts'
import { type CommandIo, EXIT, print } from '../command.ts'
import { printLines, wantsLines } from '../terminal/lines.ts'
import { jsonText, plainLine, plainText } from '../terminal/text.ts'
import { callText, section } from './call-text.ts'
import { SEE_CALLS } from './pages.ts'
import { type Payload, readPayload } from './payload.ts'

/** A person does not read more than this on a terminal. */
const SCREEN_BYTES = 65_536
const MOST_BYTES = 33_554_432

type Part = 'args' | 'result' | 'error'

export interface ShowWish {
  args: boolean
  result: boolean
  json: boolean
}

export async function showCall(io: CommandIo, server: Remote, id: string, wish: ShowWish): Promise<number> {
  const details = await administer(server, 'calls.get', { id }, SEE_CALLS)
  const lines = wantsLines(io, wish)
  const parts: [part: Part, payload: Payload][] = []
  for (const part of partsOf(details, wish)) {
    const payload = await readPayload(server, id, part, lines ? MOST_BYTES : SCREEN_BYTES)
    if (payload) parts.push([part, payload])
    else print(io.stderr, `The call has no ${part === 'args' ? 'arguments' : 'result yet'}.`)
  }
  if (lines) printLines(io.stdout, [{ ...details, ...Object.fromEntries(parts.map(wholeValue)) }])
  else print(io.stdout, [callText(details, io.stdout, Date.now()), ...parts.map(payloadText)].join('\n\n'))
  for (const [part, { redactions }] of parts) {
    if (redactions.length > 0) print(io.stderr, plainLine(`Not shown in ${part}: ${redactions.join(' ')}`))
  }
  return EXIT.ok
}

/** The outcome of a failed call is its error. */
function partsOf({ call }: JsonObject, { args, result }: ShowWish): Part[] {
  const outcome: Part = isJsonObject(call) && call.state === 'error' ? 'error' : 'result'
  return [...(args ? (['args'] as const) : []), ...(result ? [outcome] : [])]
}

function wholeValue([part, { text, bytes, isWhole }]: [Part, Payload]): [Part, JsonValue] {
  if (isWhole) return [part, JSON.parse(text) as JsonValue]
  throw new Fault(
    'upstream',
    `The ${part} has ${bytes} bytes, and this command reads ${MOST_BYTES} at most. Read slices of it with v1:callplane.calls.payload.`,
    { code: 'PAYLOAD_TOO_LARGE' },
  )
}

const TITLES: Readonly<Record<Part, string>> = { args: 'Arguments', result: 'Result', error: 'Error as stored' }

function payloadText([part, { text, bytes, isWhole }]: [Part, Payload]): string {
  if (isWhole) return section(TITLES[part], jsonText(JSON.parse(text), 2))
  const rest = `… ${bytes - Buffer.byteLength(text)} more bytes. To read all, send the output of this command to a file.`
  return section(TITLES[part], `${plainText(text)}\n${rest}`)
}
