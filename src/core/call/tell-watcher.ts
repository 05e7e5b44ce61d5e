/** Passes a change of an instance on to one watcher. A watcher that throws must not keep it from the others. */
import type { Log } from '../ports/runtime.ts'
import type { Instance } from './instance.ts'

export function tellWatcher(changed: (instance: Instance) => void, instance: Instance, log: Log | undefined): void {
  try {
    changed(instance)
  } catch (thrown) {
    log?.error({ err: thrown, instance: instance.id }, 'a watcher threw an error; the other watchers were called')
  }
}
