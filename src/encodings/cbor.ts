/** Frames as CBOR (RFC 8949). The package cbor-x is loaded when an operation uses the encoding. */
import { createRequire } from 'node:module'
import { Fault } from '../core/fault.ts'
import type { FrameWriter } from '../core/operation/stream.ts'
import { plainJson } from './plain-json.ts'
import { refuseBytes } from './unusable-frame.ts'

const require = createRequire(import.meta.url)

export function cborEncoder(operation: string): FrameWriter['encode'] {
  // Records are an extension of cbor-x that no other reader knows.
  const encoder = new (loadCbor(operation).Encoder)({ useRecords: false })
  return (frame) => {
    refuseBytes(frame, 'cbor')
    return encoder.encode(plainJson(frame))
  }
}

function loadCbor(operation: string): typeof import('cbor-x') {
  try {
    return require('cbor-x')
  } catch (cause) {
    throw new Fault('malformed', `${operation} encodes frames as CBOR. Install the package: npm install cbor-x`, {
      code: 'PACKAGE_MISSING',
      cause,
    })
  }
}
