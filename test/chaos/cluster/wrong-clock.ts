/**
 * Loaded into a node before the program (`--import`): its wall clock is wrong by CHAOS_CLOCK_MS. Clocks that only
 * measure durations stay right, as they do on a machine whose time was set wrong.
 */
const offMs = Number(process.env.CHAOS_CLOCK_MS ?? 0)
const RightDate = Date
const now = () => RightDate.now() + offMs

globalThis.Date = new Proxy(RightDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new RightDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
