/**
 * Every numbered requirement of the specifications we implement, as data. To add a specification, add a JSON file of
 * the same shape and a `…-not-yet-built.ts` beside it, and list both here.
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
  /** The keyword in the text. REQUIRED: the prose requires it. IMPLIED: it follows from a field, a table or prose. */
  level: string
  /** The party that must satisfy it: server, registry, client, or both sides. */
  actor: string
  section: string
  text: string
  /** Line range in the specification's text. */
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

/**
 * Requirements that this release does not implement, with the reason. The gate fails if a passing test cites a listed
 * id.
 */
export const notYetBuilt: ReadonlyMap<string, string> = new Map([
  ...opencallNotYetBuilt,
  ...oxpNotYetBuilt,
  ...restNotYetBuilt,
  ...contractNotYetBuilt,
])
