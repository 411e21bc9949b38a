import { assertAllowed } from '../platform/limits/assert-allowed.ts';
import type { Limiter, LimitRule, Limits } from '../platform/limits/limits.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Every budget of guesses, of what strangers may make, and of messages that cost money. Windows begin with their first use. */
const RULES = {
  /** Wrong passwords, by account (whatever name it was called by) and by address, over every way to log in. */
  passwordsOfAccount: { name: 'password-account', points: 10, durationSeconds: 15 * MINUTE },
  passwordsOfAddress: { name: 'password-address', points: 30, durationSeconds: 15 * MINUTE },
  /**
   * Registrations, by address, the refused ones too: each costs a hash and a row, or tells whether a name is taken. An
   * office or a class behind one address registers within it; whoever needs more at once has the administrator.
   */
  registrationsOfAddress: { name: 'registration-address', points: 100, durationSeconds: HOUR },
  /** Wrong second steps, over all pending logins and settings of an account. */
  codesOfAccount: { name: 'second-step-account', points: 10, durationSeconds: HOUR },
  phoneSendsOfAccount: { name: 'phone-account', points: 3, durationSeconds: HOUR },
  phoneSendsOfPhone: { name: 'phone-number', points: 10, durationSeconds: DAY },
  phoneSendsOfAll: { name: 'phone-all', points: 100, durationSeconds: HOUR },
  messagingOfAccount: { name: 'messaging-account', points: 10, durationSeconds: HOUR },
} as const satisfies Record<string, LimitRule>;

/**
 * One budget. Spend before the deed and give back when it went well: a hundred tries at once then count as a hundred.
 */
export interface Budget {
  /** @throws rate_limit_exceeded when it is used up */
  spend(of: string | number): Promise<void>;
  /** Looks without spending, before work that is dear ahead of the deed. @throws rate_limit_exceeded */
  assertLeft(of: string | number): Promise<void>;
  giveBack(of: string | number): Promise<void>;
  reset(of: string | number): Promise<void>;
}

export type Budgets = Readonly<Record<keyof typeof RULES, Budget>>;

export function makeBudgets(limits: Limits): Budgets {
  const entries = Object.entries(RULES).map(([name, rule]) => [name, toBudget(limits.define(rule))]);
  return Object.fromEntries(entries) as Budgets;
}

function toBudget(limiter: Limiter): Budget {
  return {
    spend: async (of) => assertAllowed(await limiter.consume(String(of))),
    assertLeft: async (of) => assertAllowed(await limiter.peek(String(of))),
    giveBack: (of) => limiter.giveBack(String(of)),
    reset: (of) => limiter.reset(String(of)),
  };
}
