/** Reads chunked results and checks them as a strict receiver would. */
import type { Chunk, ObjectStore } from '../../core/ports/objects.ts'
import { sha256 } from '../suites/objects/object-content.ts'

/** Returns all chunks announced so far. */
export async function readChain(objects: ObjectStore, id: string): Promise<Chunk[]> {
  const chain: Chunk[] = []
  for (let chunk = await objects.chunk(id, 0); chunk; chunk = await objects.chunk(id, chain.length)) {
    chain.push({ ...chunk, bytes: new Uint8Array(chunk.bytes) })
  }
  return chain
}

/** Returns every problem that a strict receiver would find. OpenCALL, "Checksum Chain Semantics". */
export function chainProblems(chain: readonly Chunk[]): string[] {
  let offset = 0
  let previous: string | null = null
  return chain.flatMap((chunk, index) => {
    const problems = [
      chunk.index !== index && `chunk ${index} says it is ${chunk.index}`,
      chunk.offset !== offset && `chunk ${index} begins at ${chunk.offset}, not ${offset}`,
      chunk.length !== chunk.bytes.length && `chunk ${index} says ${chunk.length} and has ${chunk.bytes.length} bytes`,
      chunk.checksum !== `sha256:${sha256(chunk.bytes)}` && `chunk ${index} has a wrong checksum`,
      chunk.checksumPrevious !== previous && `chunk ${index} does not follow the one before`,
    ]
    offset += chunk.length
    previous = chunk.checksum
    return problems.filter((problem) => problem !== false)
  })
}

export function joined(chain: readonly Chunk[]): Buffer {
  return Buffer.concat(chain.map((chunk) => chunk.bytes))
}
