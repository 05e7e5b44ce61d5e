/** Programs that the server starts have limits, and end together with all their child processes. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { runProgram, startProgram } from '../../src/platform/processes.ts'

const script = (text: string) => ({ file: process.execPath, args: ['-e', text], maxBytes: 1_000 })
const LIMITS = { timeoutMs: 60_000 }

test('a program gets its input, and its output, error output and exit code are returned', async () => {
  const text = 'process.stdin.pipe(process.stdout).on("close", () => 0); console.error("a word"); process.exitCode = 3'

  const exit = await runProgram({ ...script(text), input: 'hello' }, LIMITS)

  expect(exit).toMatchObject({ ending: 'exited', exitCode: 3, stderr: 'a word\n', inputBroke: false })
  expect(exit.stdout.toString()).toBe('hello')
})

test('of the error output the end is kept, and of the output no more than allowed', async () => {
  const noisy = await runProgram({ ...script('console.error("x".repeat(9000) + "end")'), maxErrorBytes: 10 }, LIMITS)
  const flooding = await runProgram(script('for (;;) console.log("x".repeat(1000))'), LIMITS)

  expect(noisy.stderr).toBe('xxxxxxend\n')
  expect(flooding).toMatchObject({ ending: 'overflowed', exitCode: undefined, signal: 'SIGKILL' })
  expect(flooding.stdout.length).toBeLessThanOrEqual(1_000)
})

/** Starts another program that connects to the port, holds the output open and never ends. */
const withChild = (port: number) =>
  script(`
    const connect = "require('node:net').connect(${port}, '127.0.0.1'); setInterval(() => {}, 1000)"
    require('node:child_process').spawn(process.execPath, ['-e', connect], { stdio: 'inherit' })
    setInterval(() => {}, 1000)`)

/** Where a program's child connects: its connection ends when it does. */
async function openPort() {
  const server = createServer()
  const connected = once(server, 'connection') as Promise<[Socket]>
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, connected }
}

test('a canceled program ends with its child processes', async () => {
  const { port, connected } = await openPort()
  const calledOff = new AbortController()
  const running = runProgram(withChild(port), { ...LIMITS, signal: calledOff.signal })
  const [child] = await connected
  const gone = once(
    child.on('error', () => undefined),
    'close',
  )

  calledOff.abort()

  expect(await running).toMatchObject({ ending: 'aborted', exitCode: undefined, signal: 'SIGKILL' })
  await gone
})

test('a program that takes too long is killed, and killing it again is no error', async () => {
  const late = await runProgram(script('setInterval(() => {}, 1000)'), { timeoutMs: 1 })
  const program = startProgram(script(''))
  await program.exit

  expect(late).toMatchObject({ ending: 'timed-out', signal: 'SIGKILL' })
  expect(() => program.kill()).not.toThrow()
})

test('a missing program is a system error', async () => {
  await expect(runProgram({ file: '/nowhere/program', args: [], maxBytes: 1 }, LIMITS)).rejects.toMatchObject({
    code: 'ENOENT',
  })
})
