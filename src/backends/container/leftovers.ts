/** Removes the containers that a killed server left running. */
import type { Log } from '../../core/ports/runtime.ts'
import { type Engine, runCommand } from './engine.ts'
import { isLeftOver, LABEL } from './names.ts'
import { removeContainer } from './run.ts'

export async function removeLeftovers(engine: Engine, log: Log): Promise<void> {
  const listed = await runCommand(engine, ['ps', '--all', `--filter=label=${LABEL}`, '--format={{.Names}}'])
  if (!listed.ok) {
    log.warn(
      { engine: engine.file, stderr: listed.stderr.slice(-500) },
      'could not list the containers of the container engine',
    )
    return
  }
  for (const name of listed.stdout.split('\n').filter(isLeftOver)) {
    log.info({ container: name }, 'removing a container that an earlier server left behind')
    await removeContainer(engine, name)
  }
}
