import { LRUCache } from 'lru-cache';
import type { AuditLog } from '../accounts/audit-log.ts';
import { AppError, isAppError } from '../platform/app-error.ts';
import { upToEntries } from '../platform/cache.ts';
import type { Clock } from '../platform/clock.ts';
import { KeyedMutex, SingleFlight } from '../platform/concurrency.ts';
import type { Database } from '../platform/db/database.ts';
import type { Actor } from '../platform/http/route-registry.ts';
import { assertWithinLimit, type RateLimiter, type RateLimits } from '../platform/limits/rate-limits.ts';
import type { Log } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import {
  BackendError,
  type CheckResult,
  type MailBackend,
  type MailProtocol,
  type PresentedPassword,
} from './mail-backend.ts';
import { MailboxStore, type MailboxWithApp } from './mailbox-store.ts';
import {
  type DevicesShownPasswordStore,
  generatePassword,
  generateRef,
  hashGeneratedPassword,
  type PasswordEncryption,
} from './passwords.ts';
import {
  type MailFaultPoint,
  type Provisioner,
  protocolsOf,
  serverDataFingerprint,
  toMailboxServerData,
} from './provisioner.ts';

const MIN_LENGTH = 3;
const MAX_LENGTH = 30;

/**
 * Whether a text is a local part as the contract allows it: 3 to 30 of a-z 0-9 . _ -, not starting or ending with a dot
 * or a hyphen. Narrower than the contract in one point: two dots in a row are not a valid address (RFC 5321 4.1.2,
 * Dot-string), so no mail server accepts them.
 */
export function isLocalPart(text: unknown): text is string {
  return (
    typeof text === 'string' &&
    text.length >= MIN_LENGTH &&
    text.length <= MAX_LENGTH &&
    /^[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])$/.test(text) &&
    !text.includes('..')
  );
}

/** Number of numeric suffixes to try for each name. */
const MAX_NUMBER = 200;

/**
 * Candidate local parts for an account, best first: its user name, the name with a number, then `user` and the
 * account's id. The search is limited, because every variant of a user name such as `owner-x` is reserved and an
 * unlimited one would never end.
 *
 * @param username any text
 * @param accountId used if the user name yields no valid local part
 */
export function* candidateLocalParts(username: string, accountId: number): Generator<string> {
  const bases = new Set([toBase(username), `user${accountId}`]);
  for (const base of bases) {
    if (base === undefined) continue;
    if (isLocalPart(base) && !isReserved(base)) yield base;
    for (let number = 2; number <= MAX_NUMBER; number++) {
      const stem = base.slice(0, MAX_LENGTH - String(number).length).replace(/[.-]+$/, '');
      const name = `${stem}${number}`;
      if (isLocalPart(name) && !isReserved(name)) yield name;
    }
  }
}

function toBase(username: string): string | undefined {
  const base = username
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, '')
    .replace(/\.{2,}/g, '.')
    .slice(0, MAX_LENGTH)
    .replace(/^[.-]+|[.-]+$/g, '');
  return /[a-z0-9]/.test(base) ? base : undefined;
}

/**
 * Local parts that cannot be requested. The owner of an administrative address of a domain can obtain a certificate for
 * the domain (CA/Browser Forum Baseline Requirements 3.2.2.4.4: admin, administrator, webmaster, hostmaster,
 * postmaster) or impersonate its operator. The first block is RFC 2142.
 */
const RESERVED = new Set(
  `abuse noc security postmaster hostmaster webmaster usenet news www uucp ftp info marketing sales support list
  admin administrator root sysadmin sysadm system operator superuser sudo su mailer-daemon mailerdaemon daemon nobody
  bounce bounces no-reply noreply donotreply do-not-reply it mis is ssladmin ssladministrator sslwebmaster trouble
  billing payment payments invoice invoices accounts accounting finance refund refunds help helpdesk service services
  contact office team staff hr jobs careers legal privacy compliance dpo gdpr press media dmarc dmarc-reports dmarc-rua
  dmarc-ruf tls-reports tlsrpt arf autodiscover autoconfig autoreply wpad isatap api app localhost localdomain host
  domain dns ns mx mail email imap pop pop3 smtp webmail mailbox everyone all users user guest anonymous public test
  tester testing demo example null undefined none void unknown default owner moderator mod request subscribe
  unsubscribe majordomo mailman listserv root-mail cert certificate certificates ssl tls pki ca csirt cert-team psirt
  status monitor monitoring alert alerts notification notifications notify reelgate official account verification
  verify login signin password passwords reset`
    .split(/\s+/)
    .map(withoutSeparators),
);

/**
 * Two local parts with the same skeleton are easily confused, so only one of them is ever assigned. A name of
 * separators only is its own skeleton.
 */
export function withoutSeparators(localPart: string): string {
  return localPart.replace(/[._-]/g, '') || localPart;
}

/** Whether a name is in RFC 2142, administrative, a list's `-request`, or resembles one of these. */
export function isReserved(localPart: string): boolean {
  return (
    RESERVED.has(withoutSeparators(localPart)) || /(^owner[._-]|[._-](request|owner|bounces|admin)$)/.test(localPart)
  );
}

/** The account data a mailbox depends on. */
export interface MailAccounts {
  profile(userId: number): Promise<{
    readonly account: { readonly username: string | null };
    readonly phoneBound: boolean;
    readonly messagingBound: boolean;
  }>;
}

/** The parts that communicate with the mail server. */
export interface MailServer {
  readonly provisioner: Provisioner;
  readonly appPasswordCheck: AppPasswordCheck;
}

interface MailboxServiceDependencies {
  readonly store: MailboxStore;
  readonly deviceReads: DevicesShownPasswordStore;
  /** Undefined: mailboxes are switched off. */
  readonly mailServer: MailServer | undefined;
  readonly accounts: MailAccounts;
  readonly auditLog: AuditLog;
  readonly encryption: PasswordEncryption;
  readonly rateLimits: RateLimits;
  readonly clock: Clock;
  readonly domain: string;
  /** Protocols that a new application password allows. */
  readonly protocols: readonly MailProtocol[];
  readonly onFaultPoint: (point: MailFaultPoint) => void;
}

/** The account a request is about, and its origin. */
export interface MailboxRequest {
  readonly userId: number;
  readonly actor: Partial<Actor>;
  /** Set if a device sent the request: the owner is notified when that device's sign-in ends. */
  readonly authorizationId?: number;
}

/** The account's own mailbox. */
export interface OwnMailbox {
  readonly email: string;
  /** Clear text; empty with `account`. */
  readonly password: string;
  readonly source: 'mailbox' | 'account';
}

/** The application password of a mailbox, with the result of its check. */
export interface AppPassword {
  readonly email: string;
  /** Clear text; undefined if none was ever created. */
  readonly password: string | undefined;
  readonly protocols: readonly MailProtocol[];
  readonly consistent: boolean;
}

type NewMailboxRow = Parameters<MailboxStore['insert']>[0];
type ClaimColumn = 'user_id' | 'address' | 'skeleton' | 'attempt' | 'provisioned_access' | 'created_at';

const APPLY_LIMIT = { name: 'mailbox-apply', points: 5, durationSeconds: 3600 };
const REGENERATE_LIMIT = { name: 'mailbox-app-password', points: 10, durationSeconds: 3600 };

/** Mailboxes of accounts. Changes of one account are serialized in this process, and decided by conditional writes. */
export class MailboxService {
  readonly #dependencies: MailboxServiceDependencies;
  readonly #applyLimiter: RateLimiter;
  readonly #regenerateLimiter: RateLimiter;
  readonly #mutex = new KeyedMutex<number>();

  constructor(dependencies: MailboxServiceDependencies) {
    this.#dependencies = dependencies;
    this.#applyLimiter = dependencies.rateLimits.define(APPLY_LIMIT);
    this.#regenerateLimiter = dependencies.rateLimits.define(REGENERATE_LIMIT);
  }

  /** The account's own mailbox; undefined if it has none. The audit log records that the password was read. */
  async getOwn(request: MailboxRequest): Promise<OwnMailbox | undefined> {
    const found = await this.#dependencies.store.findByUser(request.userId);
    if (found?.mailbox.state !== 'active') return undefined;
    const own = this.#toOwnMailbox(found);
    await this.#recordRead(request, 'mailbox', own.email);
    return own;
  }

  /**
   * Creates the account's mailbox. An account with a mailbox gets its existing address, whatever it requests.
   * @param localPart as the caller sent it, of any type; undefined: derived from the user name
   * @throws AppError `invalid_local_part`, `mailbox_needs_binding`, `mailbox_taken`, `mailbox_reserved`, `mailbox_off`,
   *   `mailbox_unreachable`, `mailbox_unfinished`, `rate_limit_exceeded`
   */
  async apply(request: MailboxRequest, localPart: unknown): Promise<OwnMailbox & { readonly created: boolean }> {
    const { userId } = request;
    const existing = await this.#dependencies.store.findByUser(userId);
    if (existing?.mailbox.state === 'active') return { ...this.#toOwnMailbox(existing), created: false };
    if (localPart !== undefined && !isLocalPart(localPart))
      throw new AppError('invalid_local_part', { param: 'local_part' });
    const result = await this.#runLimited(this.#applyLimiter, userId, () => this.#apply(request, localPart));
    if (result.created) await this.#recordDeviceRead(request);
    return result;
  }

  /**
   * The application password and whether the mail server still accepts it; undefined without a mailbox.
   * @throws AppError `mailbox_not_checked` if the mail server did not respond within three seconds
   */
  async getAppPassword(request: MailboxRequest): Promise<AppPassword | undefined> {
    const found = await this.#findWithFinishedAppPassword(request.userId);
    if (found?.mailbox.state !== 'active') return undefined;
    const { mailbox, app } = found;
    const email = mailbox.address;
    if (app === undefined || app.ref === null || app.sealed === null)
      return { email, password: undefined, protocols: this.#dependencies.protocols, consistent: true };
    const protocols = protocolsOf(app);
    const password = this.#dependencies.encryption.openApp(mailbox, { ref: app.ref, sealed: app.sealed });
    const { appPasswordCheck } = this.#requireServer();
    const result = await appPasswordCheck.check(email, { ref: app.ref, secret: password, protocols });
    if (result === 'unknown') throw new AppError('mailbox_not_checked');
    await this.#recordRead(request, 'mailbox.app-password', email);
    return { email, password, protocols, consistent: result === 'accepted' };
  }

  /**
   * Replaces the application password: the old one stops working and its sessions end.
   * @throws AppError `mailbox_missing`, `mailbox_off`, `mailbox_unreachable` (nothing changed), `mailbox_unfinished`,
   *   `rate_limit_exceeded`
   */
  async regenerateAppPassword(request: MailboxRequest): Promise<AppPassword> {
    const { userId } = request;
    const appPassword = await this.#runLimited(this.#regenerateLimiter, userId, async () => {
      const found = await this.#dependencies.store.findByUser(userId);
      if (found?.mailbox.state !== 'active') throw new AppError('mailbox_missing');
      return this.#replaceAppPassword(found, request.actor);
    });
    await this.#recordDeviceRead(request);
    return appPassword;
  }

  /** Completes a mailbox change interrupted by a crash or an unreachable server; for the reconciler. */
  async finishPending(id: number): Promise<void> {
    const { store } = this.#dependencies;
    const userId = (await store.findById(id))?.mailbox.user_id;
    if (userId === undefined) return;
    await this.#mutex.runExclusive(userId, async () => {
      const found = await store.findById(id);
      if (found === undefined) return;
      const { provisioner } = this.#requireServer();
      const { mailbox, app } = found;
      if (mailbox.state === 'creating') await provisioner.finishMailbox(found, {});
      else if (app?.pending_ref != null) await provisioner.finishAppPassword(mailbox, app, {}, false);
      else if (app?.ref != null && app.session_end_due === 1) await provisioner.endSessions(mailbox, app.ref);
    });
  }

  async #apply(
    { userId, actor }: MailboxRequest,
    localPart: string | undefined,
  ): Promise<OwnMailbox & { readonly created: boolean }> {
    const existing = await this.#dependencies.store.findByUser(userId);
    if (existing?.mailbox.state === 'active') return { ...this.#toOwnMailbox(existing), created: false };
    const { provisioner } = this.#requireServer();
    if (existing !== undefined) {
      if ((await provisioner.finishMailbox(existing, actor)) === 'taken') throw new AppError('mailbox_taken');
      return { ...this.#toOwnMailbox(existing), created: true };
    }
    if (localPart !== undefined && isReserved(localPart)) throw new AppError('mailbox_reserved');
    const profile = await this.#dependencies.accounts.profile(userId);
    if (!profile.phoneBound && !profile.messagingBound) throw new AppError('mailbox_needs_binding');
    const created =
      localPart === undefined
        ? await this.#createGenerated(userId, profile.account.username ?? '', actor)
        : await this.#create(userId, localPart, actor);
    if (created === undefined) throw new AppError('mailbox_taken');
    return { ...this.#toOwnMailbox(created), created: true };
  }

  /** Claims the address and creates the mailbox on the mail server; undefined if the address is taken. */
  async #create(userId: number, localPart: string, actor: Partial<Actor>): Promise<MailboxWithApp | undefined> {
    const { store, encryption, onFaultPoint } = this.#dependencies;
    const { provisioner } = this.#requireServer();
    const ref = generateRef();
    const password = generatePassword();
    const row = await this.#claim(userId, localPart, {
      ref,
      password_source: 'mailbox',
      password_sealed: encryption.sealMailbox(ref, password),
      password_hash: hashGeneratedPassword(password),
      state: 'creating',
    });
    const found = await store.findByUser(userId);
    // If this call inserted no row, the address is taken or another process has just created this account's mailbox.
    if (found === undefined) return undefined;
    if (row !== undefined) onFaultPoint('apply.intent');
    if (found.mailbox.state === 'active') return found;
    return (await provisioner.finishMailbox(found, actor)) === 'active' ? found : undefined;
  }

  async #createGenerated(userId: number, username: string, actor: Partial<Actor>): Promise<MailboxWithApp | undefined> {
    for (const localPart of candidateLocalParts(username, userId)) {
      const created = await this.#create(userId, localPart, actor);
      if (created !== undefined) return created;
    }
    return this.#create(userId, `user${userId}-${generateRef().slice(0, 6)}`, actor);
  }

  #claim(userId: number, localPart: string, rest: Omit<NewMailboxRow, ClaimColumn>) {
    const { store, domain, clock } = this.#dependencies;
    return store.insert({
      ...rest,
      user_id: userId,
      address: `${localPart}@${domain}`,
      skeleton: `${withoutSeparators(localPart)}@${domain}`,
      attempt: 0,
      provisioned_access: null,
      created_at: clock.now(),
    });
  }

  async #replaceAppPassword({ mailbox }: MailboxWithApp, actor: Partial<Actor>): Promise<AppPassword> {
    const { store, encryption, protocols, clock, onFaultPoint } = this.#dependencies;
    const { provisioner } = this.#requireServer();
    const ref = generateRef();
    const password = generatePassword();
    const sealed = encryption.sealApp(mailbox.ref, ref, password);
    const pending = { ref, sealed, hash: hashGeneratedPassword(password) };
    await store.setPendingAppPassword(mailbox.id, pending, protocols, clock.now());
    onFaultPoint('regenerate.intent');
    const { app } = (await store.findById(mailbox.id)) ?? {};
    if (app?.pending_ref !== ref) throw new AppError('mailbox_unfinished');
    await provisioner.finishAppPassword(mailbox, app, actor, true);
    return { email: mailbox.address, password, protocols: protocolsOf(app), consistent: true };
  }

  /** The mailbox, after a pending application password has been completed. */
  async #findWithFinishedAppPassword(userId: number): Promise<MailboxWithApp | undefined> {
    const { store } = this.#dependencies;
    const found = await store.findByUser(userId);
    if (found?.app?.pending_ref == null || found.mailbox.state !== 'active') return found;
    return this.#mutex.runExclusive(userId, async () => {
      const current = await store.findByUser(userId);
      if (current?.app?.pending_ref == null) return current;
      const { provisioner } = this.#requireServer();
      await provisioner.finishAppPassword(current.mailbox, current.app, { actorId: userId }, false);
      return store.findByUser(userId);
    });
  }

  #requireServer(): MailServer {
    const { mailServer } = this.#dependencies;
    if (mailServer === undefined) throw new AppError('mailbox_off');
    return mailServer;
  }

  #toOwnMailbox({ mailbox }: MailboxWithApp): OwnMailbox {
    const password = this.#dependencies.encryption.openMailbox(mailbox);
    return { email: mailbox.address, password, source: mailbox.password_source };
  }

  /** Writes the audit entry before the secret is returned, so that no read goes unrecorded. */
  async #recordRead(request: MailboxRequest, secret: 'mailbox' | 'mailbox.app-password', email: string): Promise<void> {
    const { store, auditLog } = this.#dependencies;
    await store.transaction((trx) =>
      auditLog.record(trx, { ...request.actor, action: `${secret}.read`, target: `mailbox:${email}` }),
    );
    await this.#recordDeviceRead(request);
  }

  async #recordDeviceRead({ userId, authorizationId }: MailboxRequest): Promise<void> {
    const { deviceReads, clock } = this.#dependencies;
    if (authorizationId !== undefined) await deviceReads.record(authorizationId, userId, clock.now());
  }

  /** Counts a call against the account, unless it failed because the mail server was unreachable. */
  async #runLimited<T>(limiter: RateLimiter, userId: number, work: () => Promise<T>): Promise<T> {
    assertWithinLimit(await limiter.consume(String(userId)));
    try {
      return await this.#mutex.runExclusive(userId, work);
    } catch (error) {
      if (isAppError(error, 'mailbox_unreachable')) await limiter.refund(String(userId));
      throw error;
    }
  }
}

/** The longest a caller waits for the mail server. */
const CHECK_TIMEOUT_MS = 3_000;
/** A refusal costs the mail server its failure delay, so it is cached longer than an acceptance. */
const CACHE_MS: Readonly<Record<Exclude<CheckResult, 'unknown'>, number>> = { accepted: 5_000, refused: 15_000 };

/** Whether the mail server still accepts an application password. */
export class AppPasswordCheck {
  readonly #backend: MailBackend;
  readonly #clock: Clock;
  readonly #running = new SingleFlight<CheckResult>();
  readonly #cache = new LRUCache<string, { readonly result: CheckResult; readonly until: number }>(upToEntries(10_000));

  constructor(backend: MailBackend, clock: Clock) {
    this.#backend = backend;
    this.#clock = clock;
  }

  /**
   * `accepted` if every protocol accepts the password, `refused` if any refuses it, else `unknown`. Concurrent checks
   * of one password share one request to the mail server.
   * @param address e-mail address of the mailbox
   */
  async check(address: string, password: PresentedPassword): Promise<CheckResult> {
    const cached = this.#cache.get(password.ref);
    if (cached !== undefined && cached.until > this.#clock.now()) return cached.result;
    return this.#running.run(password.ref, async () => {
      const result = await this.#checkNow(address, password);
      if (result !== 'unknown') this.#cache.set(password.ref, { result, until: this.#clock.now() + CACHE_MS[result] });
      return result;
    });
  }

  async #checkNow(address: string, password: PresentedPassword): Promise<CheckResult> {
    const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
    const timeout = new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined)));
    // A backend that ignores the signal must not delay the caller either.
    const byProtocol = await Promise.race([this.#backend.check(address, password, signal), timeout]);
    const results = password.protocols.map((protocol) => byProtocol?.get(protocol) ?? 'unknown');
    if (results.includes('refused')) return 'refused';
    return results.every((result) => result === 'accepted') ? 'accepted' : 'unknown';
  }
}

/**
 * Registers a mailbox that an account had before this service; it opens with the account's own password. The reconciler
 * of the running service registers it with the mail server within a minute. Used by an operator's command.
 * @returns the address
 * @throws AppError `invalid_local_part`, `mailbox_taken` if the account has a mailbox or the address is taken
 */
export async function adoptLegacyMailbox(
  { database, clock, domain }: { readonly database: Database<Tables>; readonly clock: Clock; readonly domain: string },
  userId: number,
  localPart: string,
): Promise<string> {
  if (!isLocalPart(localPart)) throw new AppError('invalid_local_part', { param: 'local_part' });
  const row = await new MailboxStore(database).insert({
    user_id: userId,
    address: `${localPart}@${domain}`,
    skeleton: `${withoutSeparators(localPart)}@${domain}`,
    ref: generateRef(),
    password_source: 'account',
    password_sealed: null,
    password_hash: null,
    state: 'active',
    attempt: 0,
    provisioned_access: null,
    created_at: clock.now(),
  });
  if (row === undefined) throw new AppError('mailbox_taken');
  return row.address;
}

interface ReconcilerDependencies {
  readonly store: MailboxStore;
  readonly backend: MailBackend;
  readonly mailboxes: MailboxService;
  readonly clock: Clock;
  readonly log: Log;
}

/** A younger change may still be in progress in another process. */
const MIN_AGE_MS = 30_000;
const BATCH = 200;

/** Repairs differences between our records and the mail server. Passes may run concurrently. */
export class Reconciler {
  readonly #dependencies: ReconcilerDependencies;
  constructor(dependencies: ReconcilerDependencies) {
    this.#dependencies = dependencies;
  }

  /** Completes changes interrupted by a crash or an unreachable server. @returns the number of affected mailboxes */
  async finishPendingMailboxes(): Promise<number> {
    const { store, mailboxes, clock } = this.#dependencies;
    const ids = await store.listUnfinished(clock.now() - MIN_AGE_MS, BATCH);
    for (const id of ids) await this.#attempt(id, () => mailboxes.finishPending(id));
    return ids.length;
  }

  /** Applies disabled and enabled accounts and changed account passwords to the server. */
  async syncAccess(): Promise<void> {
    const { store, backend } = this.#dependencies;
    for (let last = 0; ; ) {
      const ids = await store.listActiveAfter(last, BATCH);
      for (const id of ids) {
        await this.#attempt(id, async () => {
          const found = await store.findById(id);
          if (found === undefined) return;
          const access = toMailboxServerData(found);
          const { provisioned_access: before } = found.mailbox;
          if (serverDataFingerprint(access) === before) return;
          await backend.ensureMailbox(access);
          if (!access.active) await backend.endSessions(access.address);
          await store.setProvisioned(id, before, serverDataFingerprint(access));
        });
      }
      if (ids.length < BATCH) return;
      last = ids.at(-1) ?? last;
    }
  }

  /**
   * Removes application passwords with our mark on the server that have no record. Mailboxes without a record are only
   * reported: after a restored backup they can contain mail that is still needed.
   */
  async removeUnknownAppPasswords(): Promise<void> {
    const { store, backend, log } = this.#dependencies;
    const listed = (await backend.list()) ?? [];
    for (const { address, ref, appRefs } of listed) {
      const id = await store.findIdByRef(ref);
      if (id === undefined) {
        log.warn({ address }, 'the mail server has a mailbox of ours that no record knows');
        continue;
      }
      await this.#attempt(id, async () => {
        const { app } = (await store.findById(id)) ?? {};
        for (const appRef of appRefs)
          if (appRef !== app?.ref && appRef !== app?.pending_ref) await backend.removeAppPassword(address, appRef);
      });
    }
  }

  /** Isolates failures, so that a mailbox the server rejects does not block the repair of others. */
  async #attempt(id: number, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof BackendError) && !isAppError(error)) throw error;
      this.#dependencies.log.warn({ err: error, mailbox: id }, 'a mailbox could not be reconciled yet');
    }
  }
}

const INTERVAL_MS = 60_000;
/** Comparing application passwords lists the whole mail server, so it runs once an hour. */
const PASSES_PER_COMPARISON = 60;

/** Runs the reconciler every minute, one pass at a time. */
export class ReconcileLoop {
  readonly #reconciler: Reconciler;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #passes = 0;

  constructor(reconciler: Reconciler, log: Log) {
    this.#reconciler = reconciler;
    this.#log = log;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#running = this.#running.then(() => this.#pass());
    }, INTERVAL_MS);
  }

  /** Resolves when the current pass has ended. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  async #pass(): Promise<void> {
    try {
      await this.#reconciler.finishPendingMailboxes();
      await this.#reconciler.syncAccess();
      if (this.#passes++ % PASSES_PER_COMPARISON === 0) await this.#reconciler.removeUnknownAppPasswords();
    } catch (error) {
      this.#log.error({ err: error }, 'mailboxes could not be reconciled');
    }
  }
}
