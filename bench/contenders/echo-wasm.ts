/** A WASI command that returns its input. It starts with 17 pages of memory, like a small Rust program. */
import loadWabt from 'wabt'

const ECHO = `(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 17)
  (func (export "_start") (loop $more
    (i32.store (i32.const 0) (i32.const 64)) (i32.store (i32.const 4) (i32.const 32768))
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (if (i32.load (i32.const 8)) (then
      (i32.store (i32.const 4) (i32.load (i32.const 8)))
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
      (br $more))))))`

export async function compileEcho(): Promise<Uint8Array> {
  const { parseWat } = await loadWabt()
  const parsed = parseWat('echo.wat', ECHO)
  try {
    return parsed.toBinary({}).buffer
  } finally {
    parsed.destroy()
  }
}
