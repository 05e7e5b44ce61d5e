/** An object store in memory, for tests, with the same guarantees as any other object store. */
import { Fault } from '../../core/fault.ts'
import type { ObjectInfo, ObjectStore } from '../../core/ports/objects.ts'
import { sha256 } from '../suites/objects/object-content.ts'
import { MemoryChunks } from './memory-chunks.ts'

interface Stored {
  info: ObjectInfo
  bytes: Uint8Array
}

interface Owner {
  objects: Map<string, Stored>
  chunked: Map<string, MemoryChunks>
  writtenAt: number
}

const ID = /^(?!\.{1,2}\/)([A-Za-z0-9._~:-]{1,200})\/(?!\.{1,2}$)[A-Za-z0-9._~:-]{1,200}$/

export function createMemoryObjects(now: () => number = Date.now): ObjectStore {
  const owners = new Map<string, Owner>()

  function find(id: string): Owner | undefined {
    const [, name = ''] = ID.exec(id) ?? []
    return owners.get(name)
  }

  function ownerFor(id: string): Owner {
    const [, name] = ID.exec(id) ?? []
    if (name === undefined) throw new Fault('internal', `"${id}" is not an object id. Use {owner}/{name}.`)
    const owner = owners.get(name) ?? { objects: new Map(), chunked: new Map(), writtenAt: 0 }
    owners.set(name, owner)
    owner.writtenAt = now()
    return owner
  }

  return {
    async put(id, source, { mimeType, maxBytes, filename }) {
      const owner = ownerFor(id)
      const pieces: Uint8Array[] = []
      let length = 0
      for await (const piece of source) {
        length += piece.length
        if (length > maxBytes) throw tooLarge(maxBytes)
        pieces.push(piece.slice())
      }
      const bytes = new Uint8Array(Buffer.concat(pieces))
      const facts = { sha256: sha256(bytes), mimeType, ...(filename !== undefined && { filename }), createdAt: now() }
      const info = { id, bytes: length, ...facts }
      owner.objects.set(id, { info, bytes })
      return info
    },
    info: async (id) => find(id)?.objects.get(id)?.info,
    async *read(id, range) {
      const stored = find(id)?.objects.get(id)
      if (!stored) throw new Fault('not-found', 'There is no such object. Put it first.')
      yield stored.bytes.slice(range?.start, range?.end)
    },
    async writeChunks(id, options) {
      const owner = ownerFor(id)
      const chunks = owner.chunked.get(id) ?? new MemoryChunks(options)
      owner.chunked.set(id, chunks)
      return chunks.writer(options, () => find(id)?.chunked.get(id) === chunks)
    },
    chunk: async (id, index) => find(id)?.chunked.get(id)?.chunk(index),
    chunks: async (id) => find(id)?.chunked.get(id)?.info,
    async removeOwner(name) {
      owners.delete(name)
    },
    async *owners(untouchedForMs) {
      const before = now() - untouchedForMs
      for (const [name, { writtenAt, objects, chunked }] of owners) {
        if (writtenAt < before && objects.size + chunked.size > 0) yield name
      }
    },
  }
}

function tooLarge(maxBytes: number): Fault {
  return new Fault('invalid-input', `The file is larger than the allowed ${maxBytes} bytes. Send a smaller file.`, {
    code: 'MEDIA_TOO_LARGE',
    details: { maxBytes },
  })
}
