import type { PasswordCost } from '../src/server/accounts/passwords.ts';

/** For services under test: hashing at the real cost would be most of what a run computes. A hash names its own cost. */
export const CHEAP_PASSWORD_HASHING: PasswordCost = { memory: 64, passes: 1, parallelism: 1 };
