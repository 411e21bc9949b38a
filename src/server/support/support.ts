import type { Database } from '../platform/db/database.ts';
import { assertAllowed } from '../platform/limits/assert-allowed.ts';
import type { Limits } from '../platform/limits/limits.ts';
import type { Tables } from '../tables.ts';
import { countPendingApplications } from './application-store.ts';
import { type Applications, makeApplications } from './applications.ts';
import { countUnprocessedTickets } from './ticket-store.ts';
import { makeTickets, type TicketParts, type Tickets } from './tickets.ts';

export interface SupportParts extends TicketParts {
  readonly limits: Limits;
}

/** What accounts ask of the people who run the service. */
export interface Support {
  readonly tickets: Tickets;
  readonly applications: Applications;
  /** Unprocessed tickets and beta applications. */
  countPending(): Promise<number>;
  /** Counts something an account writes. @throws rate_limit_exceeded */
  admit(userId: number): Promise<void>;
}

/** Far above what a person writes; a script that runs wild ends here. */
const WRITINGS = { name: 'support-writings', points: 1_000, durationSeconds: 24 * 3600 };

/** Puts the parts of this capability together. */
export function makeSupport(parts: SupportParts): Support {
  const limiter = parts.limits.define(WRITINGS);
  return {
    tickets: makeTickets(parts),
    applications: makeApplications(parts),
    countPending: () => countPending(parts.database),
    async admit(userId) {
      assertAllowed(await limiter.consume(String(userId)));
    },
  };
}

async function countPending({ kysely }: Database<Tables>): Promise<number> {
  const counts = await Promise.all([countUnprocessedTickets(kysely), countPendingApplications(kysely)]);
  return counts[0] + counts[1];
}
