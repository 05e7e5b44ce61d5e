/** Schemas in, validators and published JSON Schema out. The comparison of two registries is in `evolution.ts`, for who asks. */

export { createConformance } from './conformance.ts'
export { requireObjectArguments } from './object-arguments.ts'
export { type OnCostly, prepareSchemas } from './prepare.ts'
export { createArgumentCheck } from './tool-arguments.ts'
