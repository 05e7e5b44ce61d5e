import { expect, test, vi } from 'vitest'
import { describeWith, kafkaBroker, pythonClients, together } from './engines.ts'
import { startKafka } from './kafka.ts'
import { python } from './python.ts'

const ROUND_TRIP = 'test/engines/python/kafka_round_trip.py'

// A start takes two seconds on an idle machine and several times as long on a busy one.
vi.setConfig({ testTimeout: 120_000 })

describeWith(together(kafkaBroker, pythonClients), 'Kafka', () => {
  test('carries messages, and keeps messages and offsets when it is stopped or killed', async ({ signal }) => {
    await using kafka = await startKafka()
    const roundTrip = (message: string) => python(ROUND_TRIP, [kafka.address, 'greetings', message], signal)

    expect(await roundTrip('first')).toBe('first\n')
    await kafka.stop()
    await kafka.restart()
    // The consumer group goes on where it was.
    expect(await roundTrip('second')).toBe('second\n')
    await kafka.kill()
    await kafka.restart()
    expect(await roundTrip('third')).toBe('third\n')
  })

  test('users log in with their password, and others are refused', async ({ signal }) => {
    await using kafka = await startKafka({ users: { service: 'right' } })
    const connect = (...login: string[]) => python(ROUND_TRIP, [kafka.address, 'greetings', 'hello', ...login], signal)

    expect(await connect('service', 'right')).toBe('hello\n')
    await expect(connect('service', 'wrong')).rejects.toThrow('Authentication failed')
    await expect(connect()).rejects.toThrow()
  })

  test('creates no topic if told so', async ({ signal }) => {
    await using kafka = await startKafka({ autoCreateTopics: false })

    const received = python(ROUND_TRIP, [kafka.address, 'greetings', 'hello'], signal)

    await expect(received).rejects.toThrow('Unknown topic or partition')
  })
})
