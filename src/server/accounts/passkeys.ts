import { randomBytes } from 'node:crypto';
import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import { type Selectable, sql } from 'kysely';
import { isObject } from '../../contract/objects.ts';
import type { Assertion, NewCredential } from '../../contract/passkey-credentials.ts';
import type { CreationOptions, RequestOptions } from '../../contract/passkeys.ts';
import { passkeyStateOf } from '../../contract/service.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { AccountCaller, RequestOrigin } from '../platform/http/route-registry.ts';
import { tryParse } from '../platform/json.ts';
import { type Metrics, recordingOutcome } from '../platform/metrics.ts';
import { createSigner, hashToken, randomText, type Signer } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { AccountStore } from './account-store.ts';
import type { AuditLog } from './audit-log.ts';
import { type AccountRateLimits, GuessLimit, type GuessSource, toGuessSource } from './rate-limits.ts';
import type { SecurityNotices } from './security-notices.ts';
import type { CredentialRecheck } from './sessions.ts';
import type { WaysIn } from './ways-in.ts';

/** Lifetime of a challenge. */
const CHALLENGE_MS = 5 * 60_000;

/** A credential to name in options. */
export interface KnownCredential {
  readonly id: string;
  readonly transports: readonly string[];
}

interface NewUserCredential {
  readonly challenge: string;
  /** Base64url. */
  readonly handle: string;
  readonly username: string;
  readonly displayName: string;
  readonly siteName: string;
  /** Credentials of the account, so that an authenticator is not registered twice. */
  readonly known: readonly KnownCredential[];
}

/** A verified new credential. */
interface VerifiedCredential {
  readonly credentialId: string;
  /** COSE key, base64url. */
  readonly publicKey: string;
  /** COSE algorithm. */
  readonly algorithm: number;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly aaguid: string;
  readonly isBackupEligible: boolean;
  readonly isBackedUp: boolean;
}

/** A verified use of a credential. */
interface VerifiedUse {
  readonly counter: number;
  readonly isBackedUp: boolean;
}

/** Loaded with the first passkey: its certificate parsers would slow down every start. */
const loadLibrary = () => import('@simplewebauthn/server');
const loadHelpers = () => import('@simplewebauthn/server/helpers');

/** This service as a WebAuthn relying party: options for browsers, and verification of their responses. */
export class RelyingParty {
  /** Host of BASE_URL; passkeys are lost when it changes. */
  readonly id: string;
  readonly origin: string;
  /** Whether browsers create passkeys for this host. */
  readonly isOn: boolean;

  constructor(baseUrl: string) {
    const { hostname, origin } = new URL(baseUrl);
    this.id = hostname;
    this.origin = origin;
    this.isOn = passkeyStateOf(baseUrl) === 'on';
  }

  async creationOptions(user: NewUserCredential): Promise<CreationOptions> {
    const { getDefaultSupportedAlgorithmIDs } = await loadLibrary();
    return {
      rp: { id: this.id, name: user.siteName },
      user: { id: user.handle, name: user.username, displayName: user.displayName },
      challenge: user.challenge,
      pubKeyCredParams: getDefaultSupportedAlgorithmIDs().map((alg) => ({ type: 'public-key', alg })),
      timeout: CHALLENGE_MS,
      excludeCredentials: user.known.map(toDescriptor),
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
      hints: ['client-device', 'hybrid', 'security-key'],
      extensions: { credProps: true },
    };
  }

  requestOptions(challenge: string): RequestOptions {
    return {
      challenge,
      rpId: this.id,
      timeout: CHALLENGE_MS,
      userVerification: 'required',
      allowCredentials: [],
      hints: ['client-device', 'hybrid', 'security-key'],
    };
  }

  /** @throws Error of the library if any part of the response is wrong */
  async verifyCreation(credential: NewCredential, challenge: string): Promise<VerifiedCredential> {
    const { verifyRegistrationResponse } = await loadLibrary();
    const { decodeCredentialPublicKey, cose, isoBase64URL } = await loadHelpers();
    assertSameOrigin(credential);
    const { response } = credential;
    const { registrationInfo } = await verifyRegistrationResponse({
      response: {
        ...toLibraryForm(credential),
        response: { ...response, attestationObject: await withoutAttestation(response.attestationObject) },
      } as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: this.origin,
      expectedRPID: this.id,
      requireUserVerification: true,
    });
    if (registrationInfo === undefined) throw new Error('the attestation statement is wrong');
    const { id, publicKey, counter } = registrationInfo.credential;
    if (id !== credential.id) throw new Error('the credential id differs from the authenticator data');
    return {
      credentialId: id,
      publicKey: isoBase64URL.fromBuffer(publicKey),
      algorithm: decodeCredentialPublicKey(publicKey).get(cose.COSEKEYS.alg) ?? 0,
      counter,
      transports: response.transports ?? [],
      aaguid: registrationInfo.aaguid,
      isBackupEligible: registrationInfo.credentialDeviceType === 'multiDevice',
      isBackedUp: registrationInfo.credentialBackedUp,
    };
  }

  /** @throws Error of the library if any part of the response is wrong */
  async verifyUse(
    assertion: Assertion,
    challenge: string,
    { credentialId, publicKey }: { readonly credentialId: string; readonly publicKey: string },
  ): Promise<VerifiedUse> {
    const { verifyAuthenticationResponse } = await loadLibrary();
    assertSameOrigin(assertion);
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: {
        ...toLibraryForm(assertion),
        response: { ...assertion.response, userHandle: assertion.response.userHandle ?? undefined },
      } as Parameters<typeof verifyAuthenticationResponse>[0]['response'],
      expectedChallenge: challenge,
      expectedOrigin: this.origin,
      expectedRPID: this.id,
      requireUserVerification: true,
      // The library rejects a counter that did not increase; it is a reason to warn, not to lock the owner out.
      credential: { id: credentialId, publicKey: Uint8Array.from(Buffer.from(publicKey, 'base64url')), counter: 0 },
    });
    if (!verified) throw new Error('the signature is wrong');
    return { counter: authenticationInfo.newCounter, isBackedUp: authenticationInfo.credentialBackedUp };
  }
}

const toDescriptor = ({ id, transports }: KnownCredential) => ({
  id,
  type: 'public-key' as const,
  transports: [...transports],
});

const toLibraryForm = ({ id, rawId, type }: NewCredential | Assertion) => ({
  id,
  rawId: rawId ?? id,
  type,
  clientExtensionResults: {},
});

/** The challenge inside a response, still unverified; undefined if there is none. */
function readChallenge({ response }: NewCredential | Assertion): string | undefined {
  const { challenge } = readClientData(response.clientDataJSON);
  return typeof challenge === 'string' ? challenge : undefined;
}

function readClientData(clientDataJson: string): Readonly<Record<string, unknown>> {
  const data = tryParse(Buffer.from(clientDataJson, 'base64url'));
  return isObject(data) ? data : {};
}

/** The library accepts use inside a foreign frame if the browser does not name the outer page. */
function assertSameOrigin({ response }: NewCredential | Assertion): void {
  if (readClientData(response.clientDataJSON).crossOrigin === true) throw new Error('used inside a foreign frame');
}

/**
 * Drops the statement about the authenticator's maker. It is neither requested nor used, and verifying its certificates
 * would make the library fetch revocation lists from URLs inside them.
 */
async function withoutAttestation(attestationObject: string): Promise<string> {
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await loadHelpers();
  const authData = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject)).get('authData');
  const statement = new Map<string, unknown>();
  statement.set('fmt', 'none').set('attStmt', new Map()).set('authData', authData);
  return isoBase64URL.fromBuffer(isoCBOR.encode(statement as Parameters<typeof isoCBOR.encode>[0]));
}

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
  readonly credentials: CredentialRecheck;
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

  /** @throws unauthorized, passkeys_off, passkeys_full, passkey_expired, wrong_passkey, already_exists */
  async add(
    caller: AccountCaller,
    name: string,
    credential: NewCredential,
    origin: RequestOrigin,
  ): Promise<PasskeyRow> {
    const { database, store, relyingParty, accounts, credentials, auditLog, notices, clock } = this.#dependencies;
    const { userId } = caller;
    this.#assertOn();
    const challenge = await this.#consumeChallenge(credential, { kind: 'create', userId });
    const verified = await orWrongPasskey(() => relyingParty.verifyCreation(credential, challenge));
    return database.transaction(async (trx) => {
      await accounts.lock(trx, userId);
      await credentials.assertLive(trx, caller);
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
type ChallengePurpose = { readonly kind: 'create'; readonly userId: number } | { readonly kind: 'use' };

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
