/**
 * The part of the WebAssembly API that this backend uses. Its types belong to the DOM library, which is not loaded
 * here.
 */

/** Compiled code, which can be sent to another thread. */
export type WasmModule = object & { readonly compiled: unique symbol }

export interface WasmInstance {
  readonly exports: { readonly memory: { readonly buffer: ArrayBuffer }; _start(): unknown }
}

interface Described {
  readonly name: string
  readonly kind: string
}

interface WebAssemblyApi {
  compile(bytes: Uint8Array): Promise<WasmModule>
  readonly Module: {
    imports(module: WasmModule): (Described & { readonly module: string })[]
    exports(module: WasmModule): Described[]
  }
  readonly Instance: new (module: WasmModule, imports: Record<string, object>) => WasmInstance
  readonly RuntimeError: new () => Error
}

export const webAssembly = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly

/** The import module of the host functions: WASI preview 1. */
export const WASI = 'wasi_snapshot_preview1'
