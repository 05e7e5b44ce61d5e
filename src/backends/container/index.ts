/** Runs a tool in a docker or podman container that has access only to its input and output. */
export { createContainerBackend } from './backend.ts'
export { parseContainerSettings } from './settings.ts'
