/**
 * What a caller wants of a stream: the reserved arguments `transport`, `encoding` and the details of a transport, such
 * as `webrtc`. They are taken out of the arguments where the schema does not declare them. docs/readings.md#r30.
 */
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { ReadWish } from '../../core/ports/calls.ts'
import type { StreamTransport, StreamTransports, StreamWish } from '../../core/ports/frames.ts'

/** `connection` is the one that the call came on. Its transport is read for streams only: few calls need it. */
export function readWish(
  transports: StreamTransports,
  connection?: { readonly frames?: StreamTransport | undefined },
): ReadWish {
  return (operation, call, origin) => {
    const own = connection?.frames
    const args: JsonObject = { ...(call.args as JsonObject) }
    const take = (name: string): JsonValue | undefined => {
      if (declares(operation, name)) return undefined
      const value = args[name]
      delete args[name]
      return value
    }
    const wanted = namesIn(take('transport'), 'transport')
    const encodings = namesIn(take('encoding'), 'encoding')
    const details: Record<string, JsonObject> = {}
    for (const name of transports.names()) {
      const detail = take(name)
      if (detail === undefined) continue
      if (!isJsonObject(detail)) throw notAnObject(name)
      details[name] = detail
    }
    // Details of a transport are a wish for it.
    const transportNames = wanted ?? (Object.keys(details).length > 0 ? Object.keys(details) : undefined)
    const wish: StreamWish = {
      origin,
      details,
      ...(own && { own }),
      ...(transportNames && { transports: transportNames }),
      ...(encodings && { encodings }),
    }
    return { call: { ...call, args }, wish }
  }
}

function notAnObject(field: string): Fault {
  return new Fault('invalid-input', `"args.${field}" must be an object.`, { details: { field: `args.${field}` } })
}

function declares({ schemas }: Operation, name: string): boolean {
  const { properties } = schemas.args
  return isJsonObject(properties) && Object.hasOwn(properties, name)
}

function namesIn(value: JsonValue | undefined, field: string): readonly string[] | undefined {
  if (value === undefined) return undefined
  const names = Array.isArray(value) ? value : [value]
  if (names.every((name): name is string => typeof name === 'string') && names.length > 0) return names
  throw new Fault('invalid-input', `"args.${field}" must be a name or a list of names.`, {
    details: { field: `args.${field}` },
  })
}
