/**
 * Every numbered requirement of the specifications we implement, as data. A further specification is one more JSON
 * file of the same shape, and one more `…-not-yet-built.ts` beside it, both listed here.
 */

import opencall from '../../src/testing/conformance/requirements/opencall.json' with { type: 'json' }
import oxp from '../../src/testing/conformance/requirements/oxp.json' with { type: 'json' }
import rest from '../../src/testing/conformance/requirements/rest.json' with { type: 'json' }
import contract from './contract.json' with { type: 'json' }
import { contractNotYetBuilt } from './contract-not-yet-built.ts'
import { opencallNotYetBuilt } from './opencall-not-yet-built.ts'
import { oxpNotYetBuilt } from './oxp-not-yet-built.ts'
import { restNotYetBuilt } from './rest-not-yet-built.ts'

export interface Requirement {
  /** Specification and number, `opencall:091`. */
  id: string
  /** As the text says; REQUIRED: its prose says so; IMPLIED: follows from a field, a table or prose. */
  level: string
  /** Who has to keep it: server, registry, client, or both sides. */
  actor: string
  section: string
  text: string
  /** Lines of the specification's text. */
  source: string
}

export interface Specification {
  prefix: string
  title: string
  version: string
  requirements: readonly Requirement[]
}

export const specifications: readonly Specification[] = [opencall, oxp, rest, contract]

export const requirements: ReadonlyMap<string, Requirement> = new Map(
  specifications
    .flatMap((specification) => specification.requirements)
    .map((requirement) => [requirement.id, requirement]),
)

/** What this release does not do yet, and why. A listed id that a passing test cites fails the gate. */
export const notYetBuilt: ReadonlyMap<string, string> = new Map([
  ...opencallNotYetBuilt,
  ...oxpNotYetBuilt,
  ...restNotYetBuilt,
  ...contractNotYetBuilt,
])
