/** The package werift, loaded when the server uses WebRTC. */
import { Fault } from '../../core/fault.ts'

export type Werift = typeof import('werift')

export async function loadWerift(): Promise<Werift> {
  try {
    return await import('werift')
  } catch (cause) {
    throw new Fault('malformed', 'WebRTC needs a package that is not installed: npm install werift', {
      code: 'PACKAGE_MISSING',
      cause,
    })
  }
}
