import ts from 'typescript'
import { resolve } from 'node:path'
const ROOT='/work/main'
const K: Record<string,(i:number)=>string> = {
 zod:(i) => `args: z.object({ id${i}: z.string(), count: z.int().default(1) }), result: z.object({ total${i}: z.number() }),
  run: ({ id${i}, count }) => ({ total${i}: id${i}.length + count })`,
 val:(i) => `args: v.object({ id${i}: v.string(), count: v.number() }), result: v.object({ total${i}: v.number() }),
  run: ({ id${i}, count }) => ({ total${i}: id${i}.length + count })`,
 ark:(i) => `args: type({ id${i}: 'string', count: 'number' }), result: type({ total${i}: 'number' }),
  run: ({ id${i}, count }) => ({ total${i}: id${i}.length + count })`,
 plain:(i) => `args: jsonSchema<{ id${i}: string; count: number }>({}), result: jsonSchema<{ total${i}: number }>({}),
  run: ({ id${i}, count }) => ({ total${i}: id${i}.length + count })`,
}
import {readFileSync} from 'node:fs'
function run(kind:string,n:number,server:boolean,variant='new'){
 const vfile=ROOT+'/src/core/standard-schema.ts'; let vtext=readFileSync(vfile,'utf8'); if(variant==='idx'||variant==='idx2') vtext=vtext.replace("S extends StandardSchema<infer _In, infer Out> ? Out : S extends PlainSchema<infer T> ? T : never\n/** What a caller","S extends { readonly '~standard': { readonly types?: infer T } } ? Out<NonNullable<T>> : S extends PlainSchema<infer T> ? T : never\ntype Out<T> = T extends { readonly output: infer O } ? O : never\n/** What a caller"); if(variant==='idx2') vtext=vtext.replace('export type Schema = StandardSchema | PlainSchema',"export type Schema = { readonly '~standard': object } | PlainSchema")
 const source=["import { createServer, jsonSchema, operation } from 'callplane'","import { type } from 'arktype'","import * as v from 'valibot'","import { z } from 'zod'","declare function bare<A, R>(name: string, options: { args: A; result: R; run: (args: any) => unknown }): unknown",
 ...Array.from({length:n},(_,i)=>`export const o${i} = ${variant==='bare'?'bare':'operation'}('v1:many.o${i}', {\n  ${K[kind]!(i)},\n})`), server?`void createServer({ operations: [${Array.from({length:n},(_,i)=>'o'+i).join(',')}] })`:''].join('\n')
 const { config } = ts.readConfigFile(resolve(ROOT, 'tsconfig.json'), ts.sys.readFile)
 const options={...ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT).options,noUnusedLocals:false}
 const file=ROOT+'/scripts/x.ts'; const host=ts.createCompilerHost(options)
 const {getSourceFile,fileExists,readFile}=host
  host.fileExists = (name) => name === file || fileExists(name)
  host.readFile = (name) => (name === file ? source : readFile(name))
  host.getSourceFile = (name, language, ...rest) => name === file ? ts.createSourceFile(name, source, language) : name === vfile ? ts.createSourceFile(name, vtext, language) : getSourceFile(name, language, ...rest)
 const p=ts.createProgram([file],options,host); const t=performance.now(); const c0=process.cpuUsage()
 const d=p.getSemanticDiagnostics(p.getSourceFile(file)); const c=process.cpuUsage(c0)
 console.log(variant,kind,n,server,'ms',(performance.now()-t).toFixed(0),'cpu',((c.user+c.system)/1000).toFixed(0),'inst',p.getInstantiationCount(),'types',p.getTypeCount(),'diag',d.length, d[0]&&ts.flattenDiagnosticMessageText(d[0].messageText,'\n').slice(0,200))
}

for(const k of ['zod','val','ark','plain']) for(const v of ['bare','new','idx','idx2']) for (const n of [20,120]) run(k,n,false,v)
