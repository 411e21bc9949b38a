import { ENABLED, type Role } from '../../contract/account-fields.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { statementParts } from '../platform/db/sql.ts';
import type { Caller } from '../platform/http/route-registry.ts';
import type { Log } from '../platform/log.ts';
import { RevocationWatch } from '../platform/revocation-watch.ts';
import type { Tables } from '../tables.ts';

interface CredentialRevocationWatchDependencies {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Ends long responses (downloads, streams, play links) on every process once the credential they were opened with is
 * invalid: after logout, revocation, expiry, a role change, a ban or deletion of the account.
 */
export class CredentialRevocationWatch {
  readonly #store: CredentialRevalidationStore;
  readonly #clock: Clock;
  readonly #watch: RevocationWatch<Caller>;

  constructor({ database, clock, log }: CredentialRevocationWatchDependencies) {
    this.#store = new CredentialRevalidationStore(database);
    this.#clock = clock;
    this.#watch = new RevocationWatch({ keyOf, findLive: (callers) => this.#findLive(callers), log });
  }

  /**
   * Calls `onEnd` once when the caller's credential stops working.
   * @returns removes the registration; call it when the response is complete
   */
  watch(caller: Caller, onEnd: () => void): () => void {
    return this.#watch.watch(caller, onEnd);
  }

  /** A short reference to the caller's credential that does not reveal it; see {@link resolve}. */
  referenceOf(caller: Caller): string {
    const credential = LETTERS[caller.kind] + String(credentialIdOf(caller)).slice(0, TOKEN_REFERENCE_LENGTH);
    const member = caller.kind === 'model' ? undefined : caller.member;
    return member === undefined ? credential : `${credential}${OF_MEMBER}${member.userId}`;
  }

  /**
   * The caller identified by a reference, if the credential still works and belongs to this account, or to a member of
   * this organization.
   */
  async resolve(reference: string, userId: number): Promise<Caller | undefined> {
    const [credential = '', person] = reference.split(OF_MEMBER);
    if (person === undefined) return this.#resolve(credential, userId);
    const caller = await this.#resolve(credential, Number(person));
    if (caller === undefined || caller.kind === 'model') return undefined;
    const found = await this.#store.membership(userId, caller.userId);
    if (found === undefined) return undefined;
    const { userId: personId, role: accountRole } = caller;
    // A link opens a file; it shows no prompts.
    const member = { ...found, userId: personId, seesPrompts: false, accountRole };
    return { ...caller, userId, role: 'user', member };
  }

  async #resolve(reference: string, userId: number): Promise<Caller | undefined> {
    const kind = reference[0];
    const rest = reference.slice(1);
    const id = Number(rest);
    const now = this.#clock.now();
    const own = ([found]: ValidCredential[]) => (found?.userId === userId ? found : undefined);
    if (kind === LETTERS['user-token']) {
      const tokenHash = await this.#store.userTokenHash(userId);
      if (rest.length !== TOKEN_REFERENCE_LENGTH || !tokenHash?.startsWith(rest)) return undefined;
      const found = own(await this.#store.userTokens([tokenHash]));
      return found && { kind: 'user-token', userId, role: found.role, tokenHash };
    }
    if (!Number.isSafeInteger(id) || id < 1) return undefined;
    if (kind === LETTERS.session) {
      const found = own(await this.#store.sessions([id], now));
      return found && { kind: 'session', userId, role: found.role, sessionId: id };
    }
    if (kind === LETTERS.model) {
      const found = own(await this.#store.modelTokens([id], now));
      return found && { kind: 'model', userId, tokenId: id, models: [] };
    }
    const found = kind === LETTERS.device ? own(await this.#store.devices([id], now)) : undefined;
    return found && { kind: 'device', userId, role: found.role, authorizationId: id };
  }

  /** Checks all registered responses; safe to call at any time. */
  check(): Promise<void> {
    return this.#watch.check();
  }

  /** Stops checking. */
  close(): void {
    this.#watch.close();
  }

  async #findLive(callers: readonly Caller[]): Promise<ReadonlySet<string>> {
    const now = this.#clock.now();
    const ids = {
      session: [] as number[],
      device: [] as number[],
      model: [] as number[],
      'user-token': [] as string[],
    };
    for (const caller of callers) {
      if (caller.kind === 'session') ids.session.push(caller.sessionId);
      else if (caller.kind === 'device') ids.device.push(caller.authorizationId);
      else if (caller.kind === 'model') ids.model.push(caller.tokenId);
      else ids['user-token'].push(caller.tokenHash);
    }
    const [sessions, devices, models, userTokens] = await Promise.all([
      this.#store.sessions(ids.session, now),
      this.#store.devices(ids.device, now),
      this.#store.modelTokens(ids.model, now),
      this.#store.userTokens(ids['user-token']),
    ]);
    const keysOf = (kind: Caller['kind'], found: readonly ValidCredential[]) =>
      found.map(({ id, role }) => toCredentialKey(kind, id, role));
    const live = new Set([
      ...keysOf('session', sessions),
      ...keysOf('device', devices),
      ...keysOf('model', models),
      ...keysOf('user-token', userTokens),
    ]);
    const members = callers.filter((caller) => caller.kind !== 'model' && caller.member !== undefined);
    if (members.length === 0) return live;
    const memberships = await this.#store.memberships(members.map(({ userId }) => userId));
    return new Set([
      ...live,
      ...members
        .filter((caller) => live.has(credentialKeyOf(caller)) && memberships.has(memberKeyOf(caller)))
        .map(keyOf),
    ]);
  }
}

/** First letter of a reference, by the kind of credential. */
const LETTERS = { session: 's', 'user-token': 't', device: 'd', model: 'k' } as const satisfies Record<
  Caller['kind'],
  string
>;
/** Separates the credential from the id of the member in a reference. */
const OF_MEMBER = '@';
/** Hexadecimal characters of a management token's hash used as its reference: 88 bits. */
const TOKEN_REFERENCE_LENGTH = 22;

function credentialIdOf(caller: Caller): number | string {
  switch (caller.kind) {
    case 'session':
      return caller.sessionId;
    case 'user-token':
      return caller.tokenHash;
    case 'device':
      return caller.authorizationId;
    case 'model':
      return caller.tokenId;
  }
}

/** Includes the role, so that a response opened as administrator ends when that role does. A key has none. */
const toCredentialKey = (kind: Caller['kind'], id: number | string, role?: Role): string =>
  `${kind} ${id} ${kind === 'model' ? '' : role}`;

const credentialKeyOf = (caller: Caller): string =>
  toCredentialKey(
    caller.kind,
    credentialIdOf(caller),
    caller.kind === 'model' ? undefined : (caller.member?.accountRole ?? caller.role),
  );

const toMemberKey = (organizationId: number, userId: number, role: string): string =>
  `${organizationId} ${userId} ${role}`;

const memberKeyOf = (caller: Caller): string | undefined =>
  caller.kind === 'model' || caller.member === undefined
    ? undefined
    : toMemberKey(caller.userId, caller.member.userId, caller.member.role);

/** Of the credential and the membership, with the roles of both. */
function keyOf(caller: Caller): string {
  const member = memberKeyOf(caller);
  return member === undefined ? credentialKeyOf(caller) : `${credentialKeyOf(caller)} for ${member}`;
}

/** A valid credential with its account and that account's current role. */
interface ValidCredential {
  readonly id: number | string;
  readonly userId: number;
  readonly role: Role;
}

/** SQL that checks the validity of many credentials at once. Every query uses a primary key or unique index. */
class CredentialRevalidationStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** The given sessions that have not ended, of enabled accounts. */
  sessions(ids: readonly number[], now: number): Promise<ValidCredential[]> {
    return inBatches(ids, (batch) =>
      this.#database.kysely
        .selectFrom('sessions')
        .innerJoin('accounts', 'accounts.id', 'sessions.user_id')
        .select(['sessions.id', 'sessions.user_id as userId', 'accounts.role'])
        .where('sessions.id', 'in', batch)
        .where('sessions.expires_at', '>', now)
        .where('accounts.status', '=', ENABLED)
        .execute(),
    );
  }

  /** The given management tokens, by SHA-256. */
  userTokens(hashes: readonly string[]): Promise<ValidCredential[]> {
    return inBatches(hashes, (batch) =>
      this.#database.kysely
        .selectFrom('user_tokens')
        .innerJoin('accounts', 'accounts.id', 'user_tokens.user_id')
        .select(['user_tokens.hash as id', 'user_tokens.user_id as userId', 'accounts.role'])
        .where('user_tokens.hash', 'in', batch)
        .where('accounts.status', '=', ENABLED)
        .execute(),
    );
  }

  /** The given device sign-ins whose access_token has not expired. */
  devices(ids: readonly number[], now: number): Promise<ValidCredential[]> {
    return inBatches(ids, (batch) =>
      this.#database.kysely
        .selectFrom('device_authorizations')
        .innerJoin('accounts', 'accounts.id', 'device_authorizations.user_id')
        .select(['device_authorizations.id', 'device_authorizations.user_id as userId', 'accounts.role'])
        .where('device_authorizations.id', 'in', batch)
        .where('device_authorizations.access_expires_at', '>', now)
        .where('accounts.status', '=', ENABLED)
        .execute(),
    );
  }

  /** The given `sk-` keys and llm_tokens that are neither revoked nor expired. */
  modelTokens(ids: readonly number[], now: number): Promise<ValidCredential[]> {
    return inBatches(ids, (batch) =>
      this.#database.kysely
        .selectFrom('tokens')
        .innerJoin('accounts', 'accounts.id', 'tokens.user_id')
        .select(['tokens.id', 'tokens.user_id as userId', 'accounts.role'])
        .where('tokens.id', 'in', batch)
        .where('tokens.revoked_at', 'is', null)
        .where((eb) => eb.or([eb('tokens.expires_at', 'is', null), eb('tokens.expires_at', '>', now)]))
        .where('accounts.status', '=', ENABLED)
        .execute(),
    );
  }

  /** The membership of an account in an enabled organization. */
  membership(organizationId: number, userId: number) {
    return this.#database.kysely
      .selectFrom('organization_members')
      .innerJoin('organizations', 'organizations.id', 'organization_members.organization_id')
      .innerJoin('accounts', 'accounts.id', 'organizations.id')
      .select(['organization_members.role', 'organizations.slug'])
      .where('organization_members.organization_id', '=', organizationId)
      .where('organization_members.user_id', '=', userId)
      .where('accounts.status', '=', ENABLED)
      .executeTakeFirst();
  }

  /** Keys of all memberships of the given organizations that are enabled. */
  async memberships(organizationIds: readonly number[]): Promise<ReadonlySet<string | undefined>> {
    const keys = new Set<string | undefined>();
    for (const ids of statementParts([...new Set(organizationIds)])) {
      const rows = await this.#database.kysely
        .selectFrom('organization_members')
        .innerJoin('accounts', 'accounts.id', 'organization_members.organization_id')
        .select(['organization_members.organization_id', 'organization_members.user_id', 'organization_members.role'])
        .where('organization_members.organization_id', 'in', ids)
        .where('accounts.status', '=', ENABLED)
        .execute();
      for (const row of rows) keys.add(toMemberKey(row.organization_id, row.user_id, row.role));
    }
    return keys;
  }

  /** The SHA-256 of an account's management token; an account has at most one. */
  async userTokenHash(userId: number): Promise<string | undefined> {
    const row = await this.#database.kysely
      .selectFrom('user_tokens')
      .select('hash')
      .where('user_id', '=', userId)
      .executeTakeFirst();
    return row?.hash;
  }
}

async function inBatches<Id>(
  ids: readonly Id[],
  find: (batch: readonly Id[]) => Promise<ValidCredential[]>,
): Promise<ValidCredential[]> {
  const found: ValidCredential[] = [];
  for (const part of statementParts(ids)) found.push(...(await find(part)));
  return found;
}
