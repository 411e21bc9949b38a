import type { Audit } from '../accounts/audit.ts';
import type { Clock } from '../platform/clock.ts';
import { AppError, isAppError } from '../platform/errors.ts';
import { assertAllowed } from '../platform/limits/assert-allowed.ts';
import type { Limiter, Limits } from '../platform/limits/limits.ts';
import type { Log } from '../platform/log.ts';
import type { Vault } from '../platform/secrets.ts';
import type { MailBackend, MailProtocol } from './backend.ts';
import { Consistency } from './consistency.ts';
import { candidateNames } from './names.ts';
import { generatePassword, generateRef, hashGenerated } from './passwords.ts';
import { type MailFaultPoint, Publishing, protocolsOf, type Trace } from './publishing.ts';
import { isReserved, skeleton } from './reserved-names.ts';
import { Sealing } from './sealing.ts';
import type { MailboxStore, MailboxWithApp } from './store.ts';
import { Turns } from './turns.ts';

/** What a mailbox needs to know of its account. */
export interface MailAccounts {
  profile(userId: number): Promise<{
    readonly account: { readonly username: string | null };
    readonly phoneBound: boolean;
    readonly messagingBound: boolean;
  }>;
}

export interface MailboxParts {
  readonly store: MailboxStore;
  /** Undefined: mailboxes are switched off. */
  readonly backend: MailBackend | undefined;
  readonly accounts: MailAccounts;
  readonly audit: Audit;
  readonly vault: Vault;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: Log;
  readonly domain: string;
  /** What a new application password admits. */
  readonly protocols: readonly MailProtocol[];
  readonly at?: (point: MailFaultPoint) => void;
}

export interface OwnMailbox {
  readonly email: string;
  /** Clear text; empty with `account`. */
  readonly password: string;
  readonly source: 'mailbox' | 'account';
}

export interface AppPassword {
  readonly email: string;
  /** Clear text; undefined when none was ever made. */
  readonly password: string | undefined;
  readonly protocols: readonly MailProtocol[];
  readonly consistent: boolean;
}

type NewMailboxRow = Parameters<MailboxStore['insert']>[0];
type ClaimColumn = 'user_id' | 'address' | 'skeleton' | 'attempt' | 'published' | 'created_at';

const APPLY_LIMIT = { name: 'mailbox-apply', points: 5, durationSeconds: 3600 };
const REGENERATE_LIMIT = { name: 'mailbox-app-password', points: 10, durationSeconds: 3600 };
/** A generated name that is taken this often is no longer tried one number after the other. */
const MOST_CANDIDATES = 200;

export interface Mailboxes {
  /** The account's own mailbox; undefined when it has none. Reading the password is noted in the audit log. */
  own(userId: number, trace: Trace): Promise<OwnMailbox | undefined>;
  /**
   * Gives the account a mailbox, or tells which it has. A name that is asked for has to be free; a generated one is made so.
   * @throws mailbox_needs_binding, mailbox_taken, mailbox_reserved, mailbox_off, mailbox_unreachable, mailbox_unfinished,
   *   rate_limit_exceeded
   */
  apply(
    userId: number,
    localPart: string | undefined,
    trace: Trace,
  ): Promise<OwnMailbox & { readonly created: boolean }>;
  /**
   * The application password and whether the mail server still takes it; undefined without a mailbox.
   * @throws mailbox_not_checked when the mail server did not say within three seconds
   */
  appPassword(userId: number, trace: Trace): Promise<AppPassword | undefined>;
  /**
   * Replaces the application password: the old one stops working, its sessions end.
   * @throws mailbox_missing, mailbox_off, mailbox_unreachable (nothing changed), mailbox_unfinished, rate_limit_exceeded
   */
  regenerate(userId: number, trace: Trace): Promise<AppPassword>;
  /**
   * Takes over a mailbox from before this service, which opens with the account's own password; for the operator.
   * @throws mailbox_taken
   */
  adopt(userId: number, localPart: string): Promise<void>;
  /** Finishes what was left half done for a mailbox; for the reconciler. */
  finish(id: number): Promise<void>;
}

export function makeMailboxes(parts: MailboxParts): Mailboxes {
  const { store, accounts, audit, clock, log, domain } = parts;
  const at = parts.at ?? (() => {});
  const applyLimiter = parts.limits.define(APPLY_LIMIT);
  const regenerateLimiter = parts.limits.define(REGENERATE_LIMIT);
  const sealing = new Sealing(parts.vault);
  const turns = new Turns();
  const mailServer = parts.backend && {
    backend: parts.backend,
    publishing: new Publishing({ store, backend: parts.backend, audit, clock, log, at }),
    consistency: new Consistency(parts.backend, clock),
  };
  const needServer = () => {
    if (mailServer === undefined) throw new AppError('mailbox_off');
    return mailServer;
  };

  const inTurn = <T>(limiter: Limiter, userId: number, work: () => Promise<T>): Promise<T> =>
    limited(limiter, userId, () => turns.take(userId, work));

  const show = ({ mailbox }: MailboxWithApp): OwnMailbox => ({
    email: mailbox.address,
    password: sealing.openMailbox(mailbox),
    source: mailbox.password_source,
  });
  const noteRead = (trace: Trace, what: string, email: string) =>
    store.transaction((trx) => audit.record(trx, { ...trace, action: `${what}.read`, target: `mailbox:${email}` }));

  const claim = (userId: number, localPart: string, rest: Omit<NewMailboxRow, ClaimColumn>) =>
    store.insert({
      ...rest,
      user_id: userId,
      address: `${localPart}@${domain}`,
      skeleton: `${skeleton(localPart)}@${domain}`,
      attempt: 0,
      published: null,
      created_at: clock.now(),
    });

  /** Claims the name and carries it to the mail server; undefined when it is taken. */
  const create = async (userId: number, localPart: string, trace: Trace): Promise<MailboxWithApp | undefined> => {
    const { publishing } = needServer();
    const ref = generateRef();
    const password = generatePassword();
    const row = await claim(userId, localPart, {
      ref,
      password_source: 'mailbox',
      password_sealed: sealing.sealMailbox(ref, password),
      password_hash: hashGenerated(password),
      state: 'creating',
    });
    const found = await store.ofUser(userId);
    // Without a row of ours, either the name is taken, or another process has just made a mailbox for this account.
    if (found === undefined) return undefined;
    if (row !== undefined) at('apply.intent');
    if (found.mailbox.state === 'active') return found;
    return (await publishing.finishMailbox(found, trace)) === 'active' ? found : undefined;
  };

  const createGenerated = async (userId: number, username: string, trace: Trace): Promise<MailboxWithApp> => {
    for (const name of candidateNames(username, userId).take(MOST_CANDIDATES)) {
      const made = await create(userId, name, trace);
      if (made !== undefined) return made;
    }
    const made = await create(userId, `user${userId}-${generateRef().slice(0, 6)}`, trace);
    if (made === undefined) throw new AppError('mailbox_taken');
    return made;
  };

  const replace = async (found: MailboxWithApp, trace: Trace): Promise<AppPassword> => {
    const { publishing } = needServer();
    const { mailbox } = found;
    const ref = generateRef();
    const password = generatePassword();
    const next = { ref, sealed: sealing.sealApp(mailbox.ref, ref, password), hash: hashGenerated(password) };
    await store.setNext(mailbox.id, next, parts.protocols, clock.now());
    at('regenerate.intent');
    const { app } = (await store.ofId(mailbox.id)) ?? {};
    if (app?.next_ref !== ref) throw new AppError('mailbox_unfinished');
    await publishing.finishApp(mailbox, app, trace, true);
    return { email: mailbox.address, password, protocols: protocolsOf(app), consistent: true };
  };

  /** The mailbox with whatever was on its way carried to its end. */
  const settled = async (userId: number): Promise<MailboxWithApp | undefined> => {
    const found = await store.ofUser(userId);
    if (found?.app?.next_ref == null || found.mailbox.state !== 'active') return found;
    return turns.take(userId, async () => {
      const current = await store.ofUser(userId);
      if (current?.app?.next_ref == null) return current;
      await needServer().publishing.finishApp(current.mailbox, current.app, { actorId: userId }, false);
      return store.ofUser(userId);
    });
  };

  return {
    async own(userId, trace) {
      const found = await store.ofUser(userId);
      if (found?.mailbox.state !== 'active') return undefined;
      const own = show(found);
      await noteRead(trace, 'mailbox', own.email);
      return own;
    },

    apply: (userId, localPart, trace) =>
      inTurn(applyLimiter, userId, async () => {
        const existing = await store.ofUser(userId);
        if (existing?.mailbox.state === 'active') return { ...show(existing), created: false };
        const { publishing } = needServer();
        if (existing !== undefined) {
          if ((await publishing.finishMailbox(existing, trace)) === 'taken') throw new AppError('mailbox_taken');
          return { ...show(existing), created: true };
        }
        if (localPart !== undefined && isReserved(localPart)) throw new AppError('mailbox_reserved');
        const profile = await accounts.profile(userId);
        if (!profile.phoneBound && !profile.messagingBound) throw new AppError('mailbox_needs_binding');
        if (localPart === undefined)
          return { ...show(await createGenerated(userId, profile.account.username ?? '', trace)), created: true };
        const made = await create(userId, localPart, trace);
        if (made === undefined) throw new AppError('mailbox_taken');
        return { ...show(made), created: true };
      }),

    async appPassword(userId, trace) {
      const found = await settled(userId);
      if (found?.mailbox.state !== 'active') return undefined;
      const { mailbox, app } = found;
      const email = mailbox.address;
      if (app === undefined || app.ref === null || app.sealed === null)
        return { email, password: undefined, protocols: parts.protocols, consistent: true };
      const protocols = protocolsOf(app);
      const password = sealing.openApp(mailbox, { ref: app.ref, sealed: app.sealed });
      const verdict = await needServer().consistency.ask(email, { ref: app.ref, secret: password, protocols });
      if (verdict === 'unknown') throw new AppError('mailbox_not_checked');
      await noteRead(trace, 'mailbox.app-password', email);
      return { email, password, protocols, consistent: verdict === 'accepted' };
    },

    regenerate: (userId, trace) =>
      inTurn(regenerateLimiter, userId, async () => {
        const found = await store.ofUser(userId);
        if (found?.mailbox.state !== 'active') throw new AppError('mailbox_missing');
        return replace(found, trace);
      }),

    async adopt(userId, localPart) {
      const row = await claim(userId, localPart, {
        ref: generateRef(),
        password_source: 'account',
        password_sealed: null,
        password_hash: null,
        state: 'active',
      });
      if (row === undefined) throw new AppError('mailbox_taken');
    },

    async finish(id) {
      const userId = (await store.ofId(id))?.mailbox.user_id;
      if (userId === undefined) return;
      await turns.take(userId, async () => {
        const found = await store.ofId(id);
        if (found === undefined) return;
        const { publishing } = needServer();
        const { mailbox, app } = found;
        if (mailbox.state === 'creating') await publishing.finishMailbox(found, {});
        else if (app?.next_ref != null) await publishing.finishApp(mailbox, app, {}, false);
        else if (app?.ref != null && app.sessions_due === 1) await publishing.endSessions(mailbox, app.ref);
      });
    },
  };
}

/** Counts a call against the account, unless the mail server was the reason that nothing came of it. */
async function limited<T>(limiter: Limiter, userId: number, work: () => Promise<T>): Promise<T> {
  assertAllowed(await limiter.consume(String(userId)));
  try {
    return await work();
  } catch (error) {
    if (isAppError(error, 'mailbox_unreachable')) await limiter.giveBack(String(userId));
    throw error;
  }
}
