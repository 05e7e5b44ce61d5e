/**
 * Runs each call in one container: JSON on standard input, JSON or text on standard output, and the exit code as the
 * outcome.
 */
import type { BackendContext } from '../../core/call/context.ts'
import { Fault } from '../../core/fault.ts'
import type { BackendSpec } from '../../core/operation/operation.ts'
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
import { canPassStreams } from './streams.ts'
import { containerTraits } from './traits.ts'

/** Exit code of docker and podman when the engine itself fails, not the program in the container. */
const ENGINE_FAILED = 125
/** Maximum length of the tool's standard error in a fault's details. */
const MAX_SAID = 1_000

export function createContainerBackend(spec: BackendSpec, { folder, log }: BackendParts): Backend {
  const settings = parseContainerSettings(spec)
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const locate = () => findEngine(settings.engine, settings.engineArgs, folder)
  /** By the engine's file: the answer takes as long as half a call. */
  const passing = new Map<string, Promise<boolean>>()
  const passesStreams = (engine: Engine) => {
    const known = passing.get(engine.file) ?? canPassStreams(engine)
    passing.set(engine.file, known)
    return known
  }
  const started = start()

  async function start(): Promise<void> {
    const engine = await locate()
    if (engine) await Promise.all([passesStreams(engine), removeLeftovers(engine, log)])
    else log.warn({ image: settings.image }, noEngine(settings.engine).message)
  }

  async function run(args: unknown, context: BackendContext): Promise<unknown> {
    const engine = await locate()
    if (!engine) throw noEngine(settings.engine)
    const name = newContainerName()
    const [credential, passStreams] = await Promise.all([credentialOf(context), passesStreams(engine)])
    const finished = await runContainer({
      engine,
      name,
      args: runArguments(settings, name, { variables: credential === undefined ? [] : [CREDENTIAL], passStreams }),
      environment: credential === undefined ? {} : { [CREDENTIAL]: credential },
      passStreams,
      input: encodeRaw(args),
      maxBytes: settings.maxBytes,
      signal: AbortSignal.any([context.signal, closing.signal]),
      log: context.log,
    })
    if (finished.stderr !== '') context.log.debug({ stderr: finished.stderr }, 'container standard error')
    if (finished.exitCode === 0) {
      if (!passStreams && finished.inputBroke && finished.stdout.length === 0) throw outputLost()
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
      await Promise.allSettled([started, ...running])
    },
  }
}

/** An engine that copies the streams may exit with 0 and lose the tool's output if it could not write all of the input. */
function outputLost(): Fault {
  return new Fault(
    'upstream',
    'The tool exited without reading all of its input, and its output was lost. Try again, or change the tool to read all of its input.',
    { code: 'NO_ANSWER', retryable: true },
  )
}

function failed({ exitCode, stderr }: ProgramExit): Fault {
  const said = stderr.trim().slice(-MAX_SAID)
  const hint = exitCode === 137 ? '  It was killed, for example because it used more memory than backend.memoryMb.' : ''
  return new Fault(
    'upstream',
    `The tool ended with exit code ${exitCode ?? 'unknown'}.${hint} Its standard error is in the details and in the log.`,
    { retryable: false, details: { exit_code: exitCode ?? -1, ...(said !== '' && { stderr: said }) } },
  )
}

async function notRun(engine: Engine, { image, pull }: ContainerSettings): Promise<Fault> {
  const { ok } = await runCommand(engine, ['image', 'inspect', '--format={{.Id}}', image])
  const problem = ok
    ? 'The container engine could not run the image; the server log has its error message.'
    : `The image ${image} is missing${pull === 'never' ? ': pull it, or set backend.pull to missing' : ' and could not be pulled; the server log has the reason'}.`
  return new Fault('isolation-unavailable', problem, { details: { image } })
}
