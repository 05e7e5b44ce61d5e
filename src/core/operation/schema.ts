/**
 * The part of the Standard Schema interface (standardschema.dev) that the server uses. It is copied here because it is a
 * structural contract: zod, valibot, arktype and others satisfy it without an import.
 */

export interface StandardSchema<In = unknown, Out = In> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Out> | Promise<StandardResult<Out>>
    readonly types?: { readonly input: In; readonly output: Out } | undefined
  }
}

export type StandardResult<Out> =
  | { readonly value: Out; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

declare const describes: unique symbol

/** JSON Schema 2020-12 as plain data. `T` is the type that it describes, if the developer names one. */
export type PlainSchema<T = unknown> = { readonly [keyword: string]: unknown } & { readonly [describes]?: T }

export type Schema = StandardSchema | PlainSchema

/**
 * Enough of a Standard Schema to recognize it and to read its types. The compiler compares it with each schema of a
 * program. Comparing `validate`, too, makes 5,000 more types in a program of 500 operations.
 */
interface SchemaShape {
  readonly '~standard': {
    readonly vendor: string
    readonly types?: { readonly input: unknown; readonly output: unknown } | undefined
  }
}

/** A schema as the parameter of a type. */
export type AnySchema = SchemaShape | PlainSchema

/** The type that `run` receives. */
export type Output<S> = S extends SchemaShape ? Described<S>['output'] : S extends PlainSchema<infer T> ? T : never
/** The type that a caller sends. */
export type Input<S> = S extends SchemaShape ? Described<S>['input'] : S extends PlainSchema<infer T> ? T : never

type Described<S extends SchemaShape> = NonNullable<S['~standard']['types']>

/** Gives a plain JSON Schema the type it describes: `args: jsonSchema<{ a: number }>({ type: 'object', … })`. */
export function jsonSchema<T>(schema: { readonly [keyword: string]: unknown }): PlainSchema<T> {
  return schema as PlainSchema<T>
}
