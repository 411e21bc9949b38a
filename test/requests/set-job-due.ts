import type { Kysely } from 'kysely';
import { HOUR_MS } from '../../src/contract/time-units.ts';
import type { MetaTables } from '../../src/server/platform/db/migrate.ts';

/**
 * Later than any test ends, in Unix milliseconds. A job that is due later than its interval from now runs at once, as
 * after a clock that was set back.
 */
export const inAnHour = (): number => Date.now() + HOUR_MS;

/**
 * Sets when a job runs next. A service runs its jobs 15 seconds after it has started, which on a slow machine is in the
 * middle of a test that counts their effects.
 *
 * @param dueAt Unix milliseconds
 */
export async function setJobDue(kysely: Kysely<MetaTables>, name: string, dueAt: number): Promise<void> {
  await kysely
    .insertInto('scheduled_jobs')
    .values({ name, holder: '', locked_until: 0, due_at: dueAt })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ due_at: dueAt }))
    .execute();
}
