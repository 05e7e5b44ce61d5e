/** Reads the argument `webrtc` of a call: an offer, or the connection of an earlier stream, and how to send frames. */
import { Fault } from '../../core/fault.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'

/** A browser's offer with ten media sections has about 30 kB. */
const MAX_SDP_LENGTH = 64 * 1024
const MAX_SECTIONS = 16
const MAX_CANDIDATES = 100
const MAX_RETRANSMITS = 65_535

/** How the frames of a data channel are sent. */
export interface Reliability {
  ordered: boolean
  /** Absent: until the frame has arrived. */
  maxRetransmits?: number
}

export interface Wish {
  /** An offer for a new connection, or the id of the connection to use. */
  from: { sdp: string } | { connection: string }
  reliability: Reliability
}

const FIELDS = ['sdp', 'type', 'connection', 'ordered', 'maxRetransmits']

export function parseWish(details: JsonObject | undefined): Wish {
  if (!details) throw invalid('Send your offer in "webrtc": { "type": "offer", "sdp": … }.')
  const unknown = Object.keys(details).find((key) => !FIELDS.includes(key))
  if (unknown !== undefined) throw invalid(`"webrtc" has no "${unknown}". It has ${FIELDS.join(', ')}.`)
  return { from: parseFrom(details), reliability: parseReliability(details) }
}

function parseFrom({ sdp, type, connection }: JsonObject): Wish['from'] {
  if (connection === undefined) return { sdp: parseOffer(type, sdp) }
  if (typeof connection !== 'string' || sdp !== undefined) {
    throw invalid('Send either "connection", the id of your connection, or an offer for a new one.')
  }
  return { connection }
}

function parseReliability({ ordered = true, maxRetransmits }: JsonObject): Reliability {
  if (typeof ordered !== 'boolean') throw invalid('"webrtc.ordered" must be true or false.')
  if (maxRetransmits === undefined) return { ordered }
  if (isWhole(maxRetransmits) && maxRetransmits <= MAX_RETRANSMITS) return { ordered, maxRetransmits }
  throw invalid(`"webrtc.maxRetransmits" must be a whole number from 0 to ${MAX_RETRANSMITS}.`)
}

/** Returns the offer without its candidates. */
function parseOffer(type: JsonValue | undefined, sdp: JsonValue | undefined): string {
  if (type !== 'offer') throw invalid('"webrtc.type" must be "offer".')
  if (typeof sdp !== 'string') throw invalid('"webrtc.sdp" must be the text of an offer.')
  if (sdp.length > MAX_SDP_LENGTH) throw invalid(`The offer is longer than the ${MAX_SDP_LENGTH} characters allowed.`)
  const lines = sdp.split(/\r?\n/)
  if (lines[0] !== 'v=0') throw invalid('"webrtc.sdp" is no session description: it must begin with "v=0".')
  const sections = lines.filter((line) => line.startsWith('m=')).length
  if (sections === 0) throw invalid('The offer has no media section. Create a data channel or a transceiver first.')
  if (sections > MAX_SECTIONS) throw invalid(`The offer has more than the ${MAX_SECTIONS} media sections allowed.`)
  const rest = lines.filter((line) => !isCandidate(line))
  const candidates = lines.length - rest.length
  if (candidates > MAX_CANDIDATES) throw invalid(`The offer has more than the ${MAX_CANDIDATES} candidates allowed.`)
  for (const needed of ['a=ice-ufrag:', 'a=ice-pwd:', 'a=fingerprint:']) {
    if (!rest.some((line) => line.startsWith(needed))) throw invalid(`The offer has no "${needed.slice(0, -1)}" line.`)
  }
  return rest.join('\r\n')
}

/**
 * The server replies to the address that a peer's packets come from, so it needs no candidates. Reading them would let
 * a caller make the server look up names and send packets to addresses of the caller's choice.
 */
function isCandidate(line: string): boolean {
  return line.startsWith('a=candidate:') || line.startsWith('a=remote-candidates:')
}

export function hasDataSection(sdp: string): boolean {
  return /^m=application \d+ (UDP|TCP)\/DTLS\/SCTP webrtc-datachannel\s*$/m.test(sdp)
}

export function invalid(message: string, cause?: unknown): Fault {
  return new Fault('invalid-input', message, { code: 'INVALID_OFFER', details: { field: 'args.webrtc' }, cause })
}

function isWhole(value: JsonValue): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
}
