/** Faults of the client in the words of a command. It loads little, because every command needs it. */
import { isFault } from '../../client/fault.ts'
import { Fault } from '../../core/fault.ts'
import { unreachableFault } from '../command.ts'
import { plainText } from '../terminal/text.ts'

/** Leaves other errors as they are. */
export function explainFault(thrown: unknown): unknown {
  if (!isFault(thrown)) return thrown
  const { code, message } = thrown
  if (code !== 'UNREACHABLE') return new Fault('upstream', plainText(message), { code, cause: thrown })
  const next = 'Start one with "callplane serve", or pass the address of a running one.'
  return unreachableFault(`No server responds. ${plainText(message)} ${next}`, thrown)
}
