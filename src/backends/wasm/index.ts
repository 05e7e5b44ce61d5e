/** Runs a tool as a WebAssembly module that can reach nothing but its input and its output. */
export { createWasmBackend } from './backend.ts'
export { parseWasmSettings } from './settings.ts'
