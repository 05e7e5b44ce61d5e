/**
 * Turns schemas into validators and published JSON Schema. The comparison of registries is in `evolution.ts`, and only
 * its users import it.
 */

export { createConformance } from './conformance.ts'
export { requireObjectArguments } from './object-arguments.ts'
export { type OnCostly, prepareSchemas } from './prepare.ts'
export { createArgumentCheck } from './tool-arguments.ts'
