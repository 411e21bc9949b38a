import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import { createSigner, hashToken, randomText, type Signer } from '../platform/tokens.ts';
import type { Tables } from '../tables.ts';
import { CHALLENGE_MS } from './relying-party.ts';

const NONCE_LENGTH = 32;
const MAX_CHALLENGE_LENGTH = 200;

/** Purpose of a challenge: a new passkey of one account, or the use of any passkey. */
export type ChallengePurpose = { readonly kind: 'create'; readonly userId: number } | { readonly kind: 'use' };

interface PasskeyChallengesDependencies {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly masterKey: Buffer;
}

/**
 * Challenges that authenticators sign, valid once and for five minutes. They are signed instead of stored, so that
 * visitors who only open the sign-in form cause no writes; the first use stores the hash, on every replica.
 */
export class PasskeyChallenges {
  readonly #database: Database<Tables>;
  readonly #clock: Clock;
  readonly #signer: Signer;

  constructor({ database, clock, masterKey }: PasskeyChallengesDependencies) {
    this.#database = database;
    this.#clock = clock;
    this.#signer = createSigner(masterKey, 'passkey challenges');
  }

  /** A new challenge in base64url. */
  issue(purpose: ChallengePurpose): string {
    const plain = `${this.#clock.now() + CHALLENGE_MS}.${randomText(NONCE_LENGTH)}`;
    return Buffer.from(`${plain}.${this.#signer.sign(textOf(plain, purpose))}`).toString('base64url');
  }

  /** Uses a challenge up; returns true for exactly one of several concurrent callers, and only within its lifetime. */
  async consume(challenge: string, purpose: ChallengePurpose): Promise<boolean> {
    if (challenge.length > MAX_CHALLENGE_LENGTH) return false;
    const [expiry = '', nonce = '', signature = ''] = Buffer.from(challenge, 'base64url').toString().split('.');
    const plain = `${expiry}.${nonce}`;
    if (!this.#signer.verify(textOf(plain, purpose), signature)) return false;
    const expiresAt = Number(expiry);
    if (expiresAt <= this.#clock.now()) return false;
    return wasChanged(
      await this.#database.kysely
        .insertInto('used_challenges')
        .values({ hash: hashToken(plain), expires_at: expiresAt })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst(),
    );
  }

  async deleteExpired(): Promise<void> {
    await this.#database.kysely.deleteFrom('used_challenges').where('expires_at', '<=', this.#clock.now()).execute();
  }
}

const textOf = (plain: string, purpose: ChallengePurpose): string =>
  JSON.stringify([plain, purpose.kind, purpose.kind === 'create' ? purpose.userId : 0]);
