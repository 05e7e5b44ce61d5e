/** Schemas in, validators and published JSON Schema out. The comparison of two registries is in `evolution.ts`, for who asks. */
export { prepareSchemas } from './prepare.ts'
export { createArgumentCheck, createConformance } from './tool-arguments.ts'
