/** Schemas in, validators and published JSON Schema out; and the comparison of two registries. */
export { type Change, compareRegistries } from './evolution.ts'
export { prepareSchemas } from './prepare.ts'
export { createArgumentCheck } from './tool-arguments.ts'
