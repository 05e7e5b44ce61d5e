;; Counts the bytes on standard input and writes the count as JSON: {"bytes":42}. Compile it with: wat2wasm measure.wat
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (data (i32.const 64) "{\"bytes\":")
  ;; 0: one iovec, 16: its byte count, 64: the output, 128: its digits from the right, 65536: the input buffer
  (func (export "_start") (local $bytes i32) (local $at i32) (local $end i32)
    (block $over
      (loop $more
        (i32.store (i32.const 0) (i32.const 65536))
        (i32.store (i32.const 4) (i32.const 65536))
        (br_if $over (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 16)))
        (br_if $over (i32.eqz (i32.load (i32.const 16))))
        (local.set $bytes (i32.add (local.get $bytes) (i32.load (i32.const 16))))
        (br $more)))
    (local.set $at (i32.const 144))
    (loop $digit
      (local.set $at (i32.sub (local.get $at) (i32.const 1)))
      (i32.store8 (local.get $at) (i32.add (i32.const 48) (i32.rem_u (local.get $bytes) (i32.const 10))))
      (local.set $bytes (i32.div_u (local.get $bytes) (i32.const 10)))
      (br_if $digit (local.get $bytes)))
    (local.set $end (i32.const 73))
    (loop $copy
      (i32.store8 (local.get $end) (i32.load8_u (local.get $at)))
      (local.set $end (i32.add (local.get $end) (i32.const 1)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $copy (i32.lt_u (local.get $at) (i32.const 144))))
    (i32.store8 (local.get $end) (i32.const 125))
    (i32.store (i32.const 0) (i32.const 64))
    (i32.store (i32.const 4) (i32.sub (i32.add (local.get $end) (i32.const 1)) (i32.const 64)))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16)))))
