import { type Selectable, sql } from 'kysely';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import { createSigner, hashToken, randomText, type Signer } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import { CHALLENGE_MS, type VerifiedCredential, type VerifiedUse } from './relying-party.ts';

/** A passkey with the handle under which authenticators store its account's passkeys. */
export type PasskeyRow = Selectable<Tables['passkeys']> & { readonly handle: string };

interface NewPasskey extends VerifiedCredential {
  readonly userId: number;
  readonly rpId: string;
  readonly name: string;
  readonly now: number;
}

const passkeys = (db: Executor) =>
  db
    .selectFrom('passkeys')
    .innerJoin('passkey_users', 'passkey_users.user_id', 'passkeys.user_id')
    .selectAll('passkeys')
    .select('passkey_users.handle');

/** SQL of `passkeys` and `passkey_users`. */
export class PasskeyStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Passkeys of an account, oldest first. */
  list(userId: number, db: Executor = this.#database.kysely): Promise<PasskeyRow[]> {
    return passkeys(db).where('passkeys.user_id', '=', userId).orderBy('passkeys.id').execute();
  }

  findByCredential(credentialId: string, rpId: string): Promise<PasskeyRow | undefined> {
    return passkeys(this.#database.kysely)
      .where('credential_id', '=', credentialId)
      .where('rp_id', '=', rpId)
      .executeTakeFirst();
  }

  /** The handle of an account; `fresh` becomes it if there is none yet. */
  async ensureHandle(userId: number, fresh: string): Promise<string> {
    const { kysely } = this.#database;
    await kysely
      .insertInto('passkey_users')
      .values({ user_id: userId, handle: fresh })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    const row = await kysely
      .selectFrom('passkey_users')
      .select('handle')
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow();
    return row.handle;
  }

  /** Returns the id, or undefined if the credential is registered already. */
  async insert(trx: Trx, passkey: NewPasskey): Promise<number | undefined> {
    const row = await trx
      .insertInto('passkeys')
      .values({
        user_id: passkey.userId,
        credential_id: passkey.credentialId,
        public_key: passkey.publicKey,
        algorithm: passkey.algorithm,
        counter: passkey.counter,
        transports: JSON.stringify(passkey.transports),
        aaguid: passkey.aaguid,
        backup_eligible: passkey.isBackupEligible ? 1 : 0,
        backed_up: passkey.isBackedUp ? 1 : 0,
        rp_id: passkey.rpId,
        name: passkey.name,
        created_at: passkey.now,
        last_used_at: null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst();
    return row?.id;
  }

  /** Records a use of a passkey that still exists; the counter never decreases. */
  async recordUse(trx: Trx, id: number, use: VerifiedUse, now: number): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('passkeys')
        .set({
          counter: sql<number>`case when counter < ${use.counter} then ${use.counter} else counter end`,
          backed_up: use.isBackedUp ? 1 : 0,
          last_used_at: now,
        })
        .where('id', '=', id)
        .executeTakeFirst(),
    );
  }

  async rename(trx: Trx, userId: number, id: number, name: string): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('passkeys')
        .set({ name })
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .executeTakeFirst(),
    );
  }

  /** Returns the name of the deleted passkey, or undefined if the account has no such passkey. */
  async delete(trx: Trx, userId: number, id: number): Promise<{ readonly name: string } | undefined> {
    return trx
      .deleteFrom('passkeys')
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .returning('name')
      .executeTakeFirst();
  }

  /** Deletes all passkeys of an account and returns their number. */
  async deleteOfUser(trx: Trx, userId: number): Promise<number> {
    const { numDeletedRows } = await trx.deleteFrom('passkeys').where('user_id', '=', userId).executeTakeFirst();
    return Number(numDeletedRows);
  }
}

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
