import { createRequire } from 'node:module';
import { memoizeByObject } from '../memoize-by-object.ts';

type Serialize = (value: unknown) => string;

/** The one that Fastify itself uses, a dependency of its own. */
const buildSerializer = createRequire(import.meta.resolve('fastify'))('fast-json-stringify') as (
  schema: object,
) => Serialize;

const serializerOf = memoizeByObject(buildSerializer);

/**
 * What writes the responses of a schema, as Fastify's own does, but built for the first response: to build those of all endpoints took a
 * quarter of the CPU time of a start.
 */
export const lazySerializer =
  (schema: object): Serialize =>
  (value) =>
    serializerOf(schema)(value);
