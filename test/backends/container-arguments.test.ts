import { expect, test } from 'vitest'
import { parseContainerSettings } from '../../src/backends/container/index.ts'
import { LABEL } from '../../src/backends/container/names.ts'
import { runArguments } from '../../src/backends/container/run-arguments.ts'

const SHUT_IN = [
  '--network=none',
  '--read-only',
  '--cap-drop=ALL',
  '--security-opt=no-new-privileges',
  '--user=1000:1001',
  '--memory=128m',
  '--memory-swap=128m',
  '--cpus=0.5',
  '--pids-limit=16',
  '--stop-timeout=0',
]

const NO_PROXY = [
  '--env=http_proxy=',
  '--env=HTTP_PROXY=',
  '--env=https_proxy=',
  '--env=HTTPS_PROXY=',
  '--env=ftp_proxy=',
  '--env=FTP_PROXY=',
  '--env=all_proxy=',
  '--env=ALL_PROXY=',
  '--env=no_proxy=',
  '--env=NO_PROXY=',
]

test.each([
  [false, '--log-driver=none'],
  [true, '--log-driver=passthrough'],
])('a container is run with every limit, after what the declaration adds and before the image', (passStreams, log) => {
  const settings = parseContainerSettings({
    kind: 'container',
    image: 'registry.example/tools/convert:1.4',
    command: ['/bin/tool', '--json'],
    runArgs: ['--tmpfs=/tmp'],
    user: '1000:1001',
    memoryMb: 128,
    cpus: 0.5,
    pids: 16,
    pull: 'missing',
  })

  expect(runArguments(settings, 'callplane-one', { variables: ['KEY'], passStreams })).toEqual([
    'run',
    '--tmpfs=/tmp',
    '--rm',
    '--interactive',
    '--name=callplane-one',
    `--label=${LABEL}`,
    '--pull=missing',
    ...SHUT_IN,
    log,
    ...NO_PROXY,
    '--env=KEY',
    'registry.example/tools/convert:1.4',
    '/bin/tool',
    '--json',
  ])
})
