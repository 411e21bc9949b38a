import { DAY_SECONDS } from '../../contract/time-units.ts';
import { assertWithinLimit, type RateLimits } from '../platform/limits/rate-limits.ts';
import {
  BetaApplicationService,
  type BetaApplicationServiceDependencies,
  BetaApplicationStore,
} from './beta-applications.ts';
import { TicketService, type TicketServiceDependencies, TicketStore } from './tickets.ts';

/** Dependencies of the two services, whose stores are constructed here. */
interface SupportDependencies
  extends Omit<TicketServiceDependencies, 'tickets'>,
    Omit<BetaApplicationServiceDependencies, 'betaApplications'> {
  readonly rateLimits: RateLimits;
}

/** Tickets and beta applications: requests of accounts to the operators. */
export interface Support {
  readonly tickets: TicketService;
  readonly betaApplications: BetaApplicationService;
  /** Number of unprocessed tickets and pending beta applications. */
  countPending(): Promise<number>;
  /** Counts one text an account submits. @throws AppError `rate_limit_exceeded` */
  assertMayWrite(userId: number): Promise<void>;
}

/** Far above what a person writes; stops a script that sends requests in a loop. */
const WRITE_LIMIT = { name: 'support-writings', points: 1_000, durationSeconds: DAY_SECONDS };

/** Constructs the support capability. */
export function makeSupport(dependencies: SupportDependencies): Support {
  const { database, rateLimits } = dependencies;
  const tickets = new TicketStore(database);
  const betaApplications = new BetaApplicationStore(database);
  const writeLimiter = rateLimits.define(WRITE_LIMIT);
  return {
    tickets: new TicketService({ ...dependencies, tickets }),
    betaApplications: new BetaApplicationService({ ...dependencies, betaApplications }),
    async countPending() {
      const counts = await Promise.all([tickets.countUnprocessed(), betaApplications.countPending()]);
      return counts[0] + counts[1];
    },
    async assertMayWrite(userId) {
      assertWithinLimit(await writeLimiter.consume(String(userId)));
    },
  };
}
