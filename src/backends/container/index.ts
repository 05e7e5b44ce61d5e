/** Runs a tool as a container of docker or podman that can reach nothing but its input and its output. */
export { createContainerBackend } from './backend.ts'
export { parseContainerSettings } from './settings.ts'
