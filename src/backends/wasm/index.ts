/** Runs a tool as a WebAssembly module that has access only to its input and output. */
export { createWasmBackend } from './backend.ts'
export { parseWasmSettings } from './settings.ts'
