/** A call is one container: JSON on its standard input, JSON or text on its standard output, its exit code the verdict. */
import type { BackendContext } from '../../core/context.ts'
import { Fault } from '../../core/fault.ts'
import type { BackendSpec } from '../../core/operation.ts'
import type { Backend, BackendParts } from '../../core/ports/backend.ts'
import type { ProgramExit } from '../../platform/processes.ts'
import { decodeRawBytes, encodeRaw } from '../../protocols/contract/client.ts'
import { CREDENTIAL, credentialOf } from './credential.ts'
import { type Engine, findEngine, noEngine, runCommand } from './engine.ts'
import { removeLeftovers } from './leftovers.ts'
import { newContainerName } from './names.ts'
import { runContainer } from './run.ts'
import { runArguments } from './run-arguments.ts'
import { type ContainerSettings, parseContainerSettings } from './settings.ts'
import { containerTraits } from './traits.ts'

/** Both engines say so when it is them who failed, not what is in the container. */
const ENGINE_FAILED = 125
/** Of the tool's error output, in a fault's details. */
const MAX_SAID = 1_000

export function createContainerBackend(spec: BackendSpec, { folder, log }: BackendParts): Backend {
  const settings = parseContainerSettings(spec)
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const locate = () => findEngine(settings.engine, settings.engineArgs, folder)
  const swept = sweep()

  async function sweep(): Promise<void> {
    const engine = await locate()
    if (engine) await removeLeftovers(engine, log)
    else log.warn({ image: settings.image }, noEngine(settings.engine).message)
  }

  async function run(args: unknown, context: BackendContext): Promise<unknown> {
    const engine = await locate()
    if (!engine) throw noEngine(settings.engine)
    const name = newContainerName()
    const credential = await credentialOf(context)
    const finished = await runContainer({
      engine,
      name,
      args: runArguments(settings, name, credential === undefined ? [] : [CREDENTIAL]),
      environment: credential === undefined ? {} : { [CREDENTIAL]: credential },
      input: encodeRaw(args),
      maxBytes: settings.maxBytes,
      signal: AbortSignal.any([context.signal, closing.signal]),
      log: context.log,
    })
    if (finished.stderr !== '') context.log.debug({ stderr: finished.stderr }, 'What the container said.')
    if (finished.exitCode === 0) {
      if (finished.inputBroke && finished.stdout.length === 0) throw outputLost()
      return decodeRawBytes(finished.stdout)
    }
    if (finished.exitCode !== ENGINE_FAILED) throw failed(finished)
    context.log.error(
      { image: settings.image, stderr: finished.stderr },
      'The container engine could not run the image.',
    )
    throw await notRun(engine, settings)
  }

  return {
    ...containerTraits,
    execute(args, context) {
      const call = run(args, context)
      running.add(call)
      const done = () => running.delete(call)
      call.then(done, done)
      return call
    },
    async close() {
      closing.abort(new Fault('unavailable', 'The server is shutting down. Send the call again in a moment.'))
      await Promise.allSettled([swept, ...running])
    },
  }
}

/** An engine whose writing to the container fails may end well without having read what the tool wrote. */
function outputLost(): Fault {
  return new Fault(
    'upstream',
    'The tool ended without reading all of its input, and nothing it wrote has come. Try again, or have it read its input.',
    { code: 'NO_ANSWER', retryable: true },
  )
}

function failed({ exitCode, stderr }: ProgramExit): Fault {
  const said = stderr.trim().slice(-MAX_SAID)
  const hint =
    exitCode === 137 ? ' It was killed from outside, as a tool is that needs more than backend.memoryMb.' : ''
  return new Fault(
    'upstream',
    `The tool ended with exit code ${exitCode ?? 'unknown'}.${hint} What it said is in the details and in the log.`,
    { retryable: false, details: { exit_code: exitCode ?? -1, ...(said !== '' && { stderr: said }) } },
  )
}

async function notRun(engine: Engine, { image, pull }: ContainerSettings): Promise<Fault> {
  const { ok } = await runCommand(engine, ['image', 'inspect', '--format={{.Id}}', image])
  const problem = ok
    ? 'The container engine could not run the image; the server log has its words.'
    : `The image ${image} is not there${pull === 'never' ? ': pull it, or set backend.pull to missing' : ' and could not be pulled; the server log has the reason'}.`
  return new Fault('isolation-unavailable', problem, { details: { image } })
}
