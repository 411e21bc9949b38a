import { createRequire } from 'node:module';
import type * as pg from 'pg';

const load = createRequire(import.meta.url);

/** The client of PostgreSQL, loaded when one is first used: a service on SQLite does without its megabytes. */
export const loadPg = (): typeof pg => load('pg') as typeof pg;
