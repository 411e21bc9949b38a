import type { PasswordCost } from '../src/server/accounts/passwords.ts';

/**
 * Password hashing for services under test, which would otherwise spend most of their time on it. A hash records its
 * own cost, so hashes of both costs verify.
 */
export const CHEAP_PASSWORD_HASHING: PasswordCost = { memory: 64, passes: 1, parallelism: 1 };
