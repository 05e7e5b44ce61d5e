/**
 * The rules about which files may import which, as data, and their check with dependency-cruiser. Type-only imports
 * count as well: a type of an adapter in core couples the two as much as its code would.
 */
import { cruise, type ICruiseResult, type IForbiddenRuleType } from 'dependency-cruiser'

export interface FolderRule {
  name: string
  /** Regular expression of the files that the rule applies to; its group is `$1` in `may`. */
  files: string
  /** Regular expression of files among them that have a rule of their own. */
  except?: string
  /** Regular expressions of the files of our own code that they may import. */
  may: readonly string[]
  /** True if they may import Node's modules and npm packages. */
  platform: boolean
}

const CORE = '^src/core/'
const WIRE = '^src/wire/'
const PLATFORM_CODE = '^src/platform/'
const BROWSER_CLIENT = '^src/client/(?!(?:mqtt|kafka)/)'
const CODEGEN_RUNTIME = '^src/codegen/[^/]+/runtime-text\\.ts$'
const ADAPTERS = '^src/(?:protocols|carriers|backends|stores|objects)/'

export const folderRules: readonly FolderRule[] = [
  { name: 'core', files: CORE, may: [CORE], platform: false },
  { name: 'engine', files: '^src/engine/', may: [CORE, '^src/engine/'], platform: false },
  { name: 'wire', files: WIRE, may: [CORE, WIRE], platform: false },
  // The operating-system code that several Node adapters share.
  { name: 'platform', files: PLATFORM_CODE, may: [CORE, PLATFORM_CODE], platform: true },
  {
    name: 'protocols',
    files: '^src/protocols/([^/]+)/',
    may: [CORE, WIRE, '^src/protocols/$1/'],
    platform: false,
  },
  {
    name: 'adapters',
    files: '^src/((?:carriers|stores|objects)/[^/]+)/',
    may: [CORE, WIRE, PLATFORM_CODE, '^src/$1/'],
    platform: true,
  },
  // A backend that speaks a protocol with its tool shares that protocol's shapes and its client side: docs/decisions/0008.
  {
    name: 'backends',
    files: '^src/(backends/[^/]+)/',
    may: [
      CORE,
      WIRE,
      PLATFORM_CODE,
      '^src/$1/',
      '^src/backends/remote/',
      '^src/protocols/[^/]+/(?:wire|faults|client)\\.ts$',
    ],
    platform: true,
  },
  {
    name: 'services',
    files: '^src/(schemas|encodings|security|telemetry)/',
    may: [CORE, WIRE, PLATFORM_CODE, '^src/$1/'],
    platform: true,
  },
  // Pure, because a server also serves what it generates. The topics are data of the protocol.
  {
    name: 'codegen',
    files: '^src/codegen/',
    except: CODEGEN_RUNTIME,
    may: [CORE, WIRE, '^src/codegen/', '^src/protocols/[^/]+/(?:wire|topics|kafka-topics)\\.ts$'],
    platform: false,
  },
  // Reads the sources of a client in another language, which lie beside it, when such a client is generated.
  { name: 'codegen-runtime', files: CODEGEN_RUNTIME, may: [], platform: true },
  // Schemas and redaction too: `runOperation` checks arguments and results and keeps secrets out as a server does, and
  // with the same code.
  {
    name: 'testing',
    files: '^src/testing/',
    may: [
      CORE,
      WIRE,
      '^src/engine/',
      '^src/testing/',
      '^src/schemas/index\\.ts$',
      '^src/security/redaction/redaction\\.ts$',
    ],
    platform: true,
  },
  {
    name: 'client',
    files: '^src/client/(?!(?:mqtt|kafka)/)',
    may: [BROWSER_CLIENT, CORE, WIRE, '^src/protocols/[^/]+/wire\\.ts$'],
    platform: false,
  },
  // The clients of brokers run in Node, with a library. Names of topics are the protocol's.
  {
    name: 'client-of-brokers',
    files: '^src/client/(mqtt|kafka)/',
    may: [
      BROWSER_CLIENT,
      CORE,
      WIRE,
      '^src/client/$1/',
      '^src/protocols/[^/]+/wire\\.ts$',
      '^src/protocols/opencall/(?:topics|kafka-topics)\\.ts$',
    ],
    platform: true,
  },
  // Hooks on the client, for one framework.
  {
    name: 'react',
    files: '^src/react/',
    may: ['^src/react/', '^src/client/'],
    platform: true,
  },
  {
    name: 'agents',
    files: '^src/agents/',
    may: [CORE, WIRE, '^src/agents/', '^src/protocols/[^/]+/wire\\.ts$'],
    platform: false,
  },
  { name: 'server', files: '^src/server/', may: ['^src/(?!cli/|index\\.ts$)'], platform: true },
  // Core too: the command line is one of the three edges where a thrown value becomes a Fault. And schemas, for
  // the comparison of two registries, which needs no server.
  {
    name: 'cli',
    files: '^src/cli/',
    may: ['^src/(?:cli|core|wire|server|client|codegen|testing|security|schemas)/'],
    platform: true,
  },
  // The message carriers of applications use the same link as the server's own.
  {
    name: 'index',
    files: '^src/index\\.ts$',
    may: ['^src/(?:core|server|schemas|security)/', '^src/wire/messages/'],
    platform: false,
  },
  {
    name: 'examples',
    files: '^examples/',
    may: ['^examples/', '^src/index\\.ts$', '^src/testing/index\\.ts$'],
    platform: true,
  },
]

/** Node's modules and installed packages. An import that cannot be resolved has its own rule. */
const PLATFORM = ['core', 'npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-bundled'] as const

const forbidden: IForbiddenRuleType[] = [
  ...folderRules.map(
    ({ name, files, except, may, platform }): IForbiddenRuleType => ({
      name,
      severity: 'error',
      from: { path: files, ...(except && { pathNot: except }) },
      to: { pathNot: [...may], ...(platform && { dependencyTypesNot: [...PLATFORM] }) },
    }),
  ),
  {
    name: 'adapters-meet-in-compose',
    severity: 'error',
    // The client side defines the format of a webhook's callback, wherever the callback arrives.
    from: {
      path: '^src/server/',
      pathNot:
        '^src/server/(?:create-server|serving|build/(?:observing|storage|backends|imports|fault-table|own-parts)|mount/(?:surfaces|mcp|openapi-route|sessions|stream-transports|tool-handler|wired/[^/]+)|open/stored-secrets|operate/.+|workers/(?:hub|link))\\.ts$',
    },
    to: { path: ADAPTERS, pathNot: '^src/protocols/[^/]+/client\\.ts$', dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'folder-without-a-rule',
    severity: 'error',
    from: { path: '^src/', pathNot: folderRules.map((rule) => rule.files) },
    to: {},
  },
  {
    name: 'published-code-needs-no-dev-dependency',
    severity: 'error',
    from: { path: '^src/' },
    to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only', 'npm-peer'] },
  },
  { name: 'not-found', severity: 'error', from: {}, to: { couldNotResolve: true } },
  {
    name: 'circle',
    severity: 'error',
    from: { path: '^src/' },
    to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
  },
]

/** The test plants a violation of every rule. */
export const ruleNames: readonly string[] = forbidden.flatMap(({ name }) => name ?? [])

export interface ImportReport {
  /** Our own files that the check read. */
  files: readonly string[]
  violations: readonly { rule: string; from: string; to: string }[]
}

export async function checkImports(baseDir: string, folders: readonly string[]): Promise<ImportReport> {
  const { output } = await cruise([...folders], {
    baseDir,
    validate: true,
    ruleSet: { forbidden },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['callplane-source', 'import', 'types', 'node', 'default'],
    },
  })
  const { modules, summary } = output as ICruiseResult
  return {
    files: modules.map((module) => module.source).filter((source) => /^(?:src|examples)\//.test(source)),
    violations: summary.violations.map(({ rule, from, to }) => ({ rule: rule.name, from, to })),
  }
}
