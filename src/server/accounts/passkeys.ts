import { randomBytes } from 'node:crypto';
import type { Assertion, NewCredential } from '../../contract/passkey-credentials.ts';
import type { CreationOptions, RequestOptions } from '../../contract/passkeys.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import type { AccountCaller, RequestOrigin } from '../platform/http/route-registry.ts';
import { type Metrics, recordingOutcome } from '../platform/metrics.ts';
import { hashToken } from '../platform/tokens.ts';
import type { Tables, Trx } from '../tables.ts';
import type { AccountStore } from './account-store.ts';
import type { AuditLog } from './audit-log.ts';
import { GuessLimit, type GuessSource, toGuessSource } from './guess-limit.ts';
import type { ChallengePurpose, PasskeyChallenges, PasskeyRow, PasskeyStore } from './passkey-store.ts';
import type { AccountRateLimits } from './rate-limits.ts';
import { type RelyingParty, readChallenge, type VerifiedUse } from './relying-party.ts';
import type { SecurityNotices } from './security-notices.ts';
import type { WaysIn } from './ways-in.ts';

const MAX_PER_ACCOUNT = 20;
const HANDLE_BYTES = 32;
/** Owner of no passkey; wrong guesses at unknown credentials count against the network only. */
const UNKNOWN_SOURCE: GuessSource = { network: undefined, knownSourceKey: undefined };

/** A passkey and the verified use of it, not recorded yet. */
export interface PasskeyUse {
  readonly passkey: PasskeyRow;
  readonly use: VerifiedUse;
}

interface PasskeyServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: PasskeyStore;
  readonly relyingParty: RelyingParty;
  readonly challenges: PasskeyChallenges;
  readonly accounts: AccountStore;
  readonly metrics: Pick<Metrics, 'recordPasskeyUse'>;
  readonly waysIn: WaysIn;
  readonly rateLimits: AccountRateLimits;
  readonly auditLog: AuditLog;
  readonly notices: SecurityNotices;
  readonly clock: Clock;
  readonly settings: Live<{ readonly siteName: string }>;
}

/** Passkeys (WebAuthn): discoverable credentials that verify their owner, and so count as both factors. */
export class PasskeyService {
  readonly #dependencies: PasskeyServiceDependencies;
  readonly #guesses: GuessLimit;

  constructor(dependencies: PasskeyServiceDependencies) {
    this.#dependencies = dependencies;
    const { rateLimits } = dependencies;
    this.#guesses = new GuessLimit({
      byAccount: rateLimits.passwordsByAccount,
      byKnownSource: rateLimits.passwordsByKnownSource,
      byNetwork: rateLimits.passwordsByNetwork,
      resetsWrongGuesses: false,
    });
  }

  /** Whether browsers can create passkeys for this service. */
  get isOn(): boolean {
    return this.#dependencies.relyingParty.isOn;
  }

  /** Passkeys of an account, oldest first; `isUsable` is false for passkeys of a former host. */
  async list(userId: number): Promise<readonly (PasskeyRow & { readonly isUsable: boolean })[]> {
    const { store, relyingParty } = this.#dependencies;
    const rows = await store.list(userId);
    return rows.map((row) => ({ ...row, isUsable: this.isOn && row.rp_id === relyingParty.id }));
  }

  /** Options to create a passkey; the caller has proved to be present. @throws passkeys_off, passkeys_full */
  async creationOptions(userId: number): Promise<CreationOptions> {
    const { store, accounts, relyingParty, challenges, settings } = this.#dependencies;
    this.#assertOn();
    const account = await accounts.find(userId);
    if (account === undefined) throw new AppError('unauthorized');
    const own = await this.list(userId);
    assertRoom(own.length);
    return relyingParty.creationOptions({
      challenge: challenges.issue({ kind: 'create', userId }),
      handle: await store.ensureHandle(userId, randomBytes(HANDLE_BYTES).toString('base64url')),
      username: account.username,
      displayName: account.display_name,
      siteName: settings.current().siteName,
      known: own
        .filter((row) => row.isUsable)
        .map((row) => ({ id: row.credential_id, transports: JSON.parse(row.transports) as string[] })),
    });
  }

  /** @throws passkeys_off, passkeys_full, passkey_expired, wrong_passkey, already_exists */
  async add(userId: number, name: string, credential: NewCredential, origin: RequestOrigin): Promise<PasskeyRow> {
    const { database, store, relyingParty, accounts, auditLog, notices, clock } = this.#dependencies;
    this.#assertOn();
    const challenge = await this.#consumeChallenge(credential, { kind: 'create', userId });
    const verified = await orWrongPasskey(() => relyingParty.verifyCreation(credential, challenge));
    return database.transaction(async (trx) => {
      if ((await accounts.lock(trx, userId)) === undefined) throw new AppError('unauthorized');
      assertRoom((await store.list(userId, trx)).length);
      const id = await store.insert(trx, { ...verified, userId, rpId: relyingParty.id, name, now: clock.now() });
      if (id === undefined) throw new AppError('already_exists', { params: { what: 'passkey' } });
      await auditLog.record(trx, {
        actorId: userId,
        action: 'self.passkey-add',
        target: `user:${userId}`,
        after: { name, algorithm: verified.algorithm },
        ...origin,
      });
      await notices.notify(trx, userId, 'passkey-added');
      const added = (await store.list(userId, trx)).find((row) => row.id === id);
      if (added === undefined) throw new AppError('unauthorized');
      return added;
    });
  }

  /** @throws not_exist */
  async rename(userId: number, id: number, name: string, origin: RequestOrigin): Promise<void> {
    const { database, store, auditLog } = this.#dependencies;
    await database.transaction(async (trx) => {
      if (!(await store.rename(trx, userId, id, name))) throw notExistError('passkey');
      const entry = { actorId: userId, target: `user:${userId}`, after: { name } };
      await auditLog.record(trx, { ...entry, action: 'self.passkey-rename', ...origin });
    });
  }

  /** @throws not_exist, last_way_in */
  async remove(userId: number, id: number, origin: RequestOrigin): Promise<void> {
    const { database, store, accounts, waysIn, auditLog, notices } = this.#dependencies;
    await database.transaction(async (trx) => {
      const account = await accounts.lock(trx, userId);
      if (account === undefined) throw new AppError('unauthorized');
      const removed = await store.delete(trx, userId, id);
      if (removed === undefined) throw notExistError('passkey');
      await waysIn.assertSomeLeft(trx, account);
      await auditLog.record(trx, {
        actorId: userId,
        action: 'self.passkey-remove',
        target: `user:${userId}`,
        before: { name: removed.name },
        ...origin,
      });
      await notices.notify(trx, userId, 'passkey-removed');
    });
  }

  /** Options to use a passkey. @throws passkeys_off */
  requestOptions(): RequestOptions {
    const { relyingParty, challenges } = this.#dependencies;
    this.#assertOn();
    return relyingParty.requestOptions(challenges.issue({ kind: 'use' }));
  }

  /** The passkey an assertion claims to be made with. @throws passkeys_off */
  find({ id }: Assertion): Promise<PasskeyRow | undefined> {
    this.#assertOn();
    const { store, relyingParty } = this.#dependencies;
    return store.findByCredential(id, relyingParty.id);
  }

  /**
   * Verifies an assertion. Its challenge is used up, and a wrong one counts like a wrong password. A right one counts
   * even if attackers have exhausted the account's limit, since signatures cannot be guessed.
   *
   * @param passkey as `find` returned it
   * @param isOwnerKnown the account is known otherwise, so the authenticator need not name it
   * @throws passkey_expired, wrong_passkey, rate_limit_exceeded
   */
  verify(
    assertion: Assertion,
    passkey: PasskeyRow | undefined,
    source: GuessSource,
    isOwnerKnown = false,
  ): Promise<PasskeyUse> {
    const { metrics } = this.#dependencies;
    const record = (outcome: string) => metrics.recordPasskeyUse(outcome);
    return recordingOutcome(record, () => this.#verify(assertion, passkey, source, isOwnerKnown));
  }

  async #verify(
    assertion: Assertion,
    passkey: PasskeyRow | undefined,
    source: GuessSource,
    isOwnerKnown: boolean,
  ): Promise<PasskeyUse> {
    const { relyingParty } = this.#dependencies;
    const account = passkey === undefined ? `?passkey:${hashToken(assertion.id)}` : String(passkey.user_id);
    await this.#guesses.assertNotExhausted(account, source, true);
    const challenge = await this.#consumeChallenge(assertion, { kind: 'use' });
    await this.#guesses.consume(account, source, true);
    const countWrong = async () => {
      if (source.knownSourceKey === undefined) await this.#guesses.consume(account, UNKNOWN_SOURCE);
    };
    const handle = assertion.response.userHandle || (isOwnerKnown ? passkey?.handle : undefined);
    if (passkey === undefined || handle !== passkey.handle) {
      await countWrong();
      throw new AppError('wrong_passkey');
    }
    const known = { credentialId: passkey.credential_id, publicKey: passkey.public_key };
    const use = await orWrongPasskey(() => relyingParty.verifyUse(assertion, challenge, known), countWrong);
    await this.#guesses.succeed(account, source, true);
    return { passkey, use };
  }

  /**
   * Records a verified use, in the transaction of what it permits and under the account's lock.
   *
   * @throws wrong_passkey if the passkey was removed meanwhile
   */
  async recordUse(trx: Trx, { passkey, use }: PasskeyUse): Promise<void> {
    const { store, notices, clock } = this.#dependencies;
    if (!(await store.recordUse(trx, passkey.id, use, clock.now()))) throw new AppError('wrong_passkey');
    const hasCounter = passkey.counter > 0 || use.counter > 0;
    if (hasCounter && use.counter <= passkey.counter)
      await notices.notify(trx, passkey.user_id, 'passkey-counter', `passkey.counter:${passkey.id}:${use.counter}`);
  }

  /** Proves with a passkey of the account that its owner is present. @throws as `verify` */
  async confirm(caller: AccountCaller, assertion: Assertion): Promise<void> {
    const { database, accounts } = this.#dependencies;
    const passkey = await this.find(assertion);
    const own = passkey?.user_id === caller.userId ? passkey : undefined;
    const verified = await this.verify(assertion, own, toGuessSource(caller), true);
    await database.transaction(async (trx) => {
      if ((await accounts.lock(trx, caller.userId)) === undefined) throw new AppError('unauthorized');
      await this.recordUse(trx, verified);
    });
  }

  async #consumeChallenge(credential: NewCredential | Assertion, purpose: ChallengePurpose): Promise<string> {
    const challenge = readChallenge(credential);
    if (challenge === undefined || !(await this.#dependencies.challenges.consume(challenge, purpose)))
      throw new AppError('passkey_expired');
    return challenge;
  }

  #assertOn(): void {
    if (!this.isOn) throw new AppError('passkeys_off');
  }
}

function assertRoom(count: number): void {
  if (count >= MAX_PER_ACCOUNT) throw new AppError('passkeys_full', { params: { limit: MAX_PER_ACCOUNT } });
}

/** Runs a verification of the library, which throws plain errors that quote the response. */
async function orWrongPasskey<R>(verify: () => Promise<R>, onWrong = async (): Promise<void> => {}): Promise<R> {
  try {
    return await verify();
  } catch (error) {
    await onWrong();
    throw new AppError('wrong_passkey', { cause: error, log: { reason: (error as Error).message } });
  }
}
