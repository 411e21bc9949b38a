import type { AuditLog } from '../accounts/audit-log.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Actor } from '../platform/http/route-registry.ts';
import type { Log } from '../platform/log.ts';
import {
  BackendError,
  MAIL_PROTOCOLS,
  type MailBackend,
  type MailboxServerData,
  type MailProtocol,
} from './mail-backend.ts';
import type { AppPasswordRow, MailboxRow, MailboxStore, MailboxWithApp } from './mailbox-store.ts';

/** Points between two steps where a test kills the process. */
export type MailFaultPoint =
  | 'apply.intent'
  | 'apply.backend'
  | 'apply.active'
  | 'regenerate.intent'
  | 'regenerate.backend'
  | 'regenerate.complete'
  | 'regenerate.sessions';

interface ProvisionerDependencies {
  readonly store: MailboxStore;
  readonly backend: MailBackend;
  readonly auditLog: AuditLog;
  readonly clock: Clock;
  readonly log: Log;
  readonly onFaultPoint: (point: MailFaultPoint) => void;
}

/** The protocols an application password allows. */
export const protocolsOf = (app: AppPasswordRow): MailProtocol[] =>
  MAIL_PROTOCOLS.filter((protocol) => app[protocol] === 1);

/**
 * Applies mailbox changes to the mail server and records their completion.
 *
 * The intended change is stored before the server is called, and each call is idempotent, so that the next caller or
 * the reconciler completes a change after a crash. A change is withdrawn only if the server has certainly done nothing.
 */
export class Provisioner {
  readonly #dependencies: ProvisionerDependencies;
  constructor(dependencies: ProvisionerDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Activates an unfinished mailbox; `taken` if its address belongs to someone else on the server (the row is then
   * deleted).
   * @throws mailbox_unreachable, mailbox_unfinished
   */
  async finishMailbox(found: MailboxWithApp, actor: Partial<Actor>): Promise<'active' | 'taken'> {
    const { store, backend, auditLog, onFaultPoint } = this.#dependencies;
    const { mailbox } = found;
    const attempt = await store.beginAttempt(mailbox.id);
    if (attempt === undefined) {
      if ((await store.findById(mailbox.id))?.mailbox.state === 'active') return 'active';
      throw new AppError('mailbox_unfinished');
    }
    const access = toMailboxServerData(found);
    try {
      await backend.ensureMailbox(access);
    } catch (error) {
      if (error instanceof BackendError && error.kind === 'taken') {
        await store.deleteUnfinished(mailbox.id, attempt);
        return 'taken';
      }
      // A later attempt cannot know which changes earlier ones made on the server.
      const undone = error instanceof BackendError && error.kind !== 'uncertain' && attempt === 1;
      if (undone) await store.deleteUnfinished(mailbox.id, attempt);
      throw this.#toFailure(error, 'mailbox.create', mailbox);
    }
    onFaultPoint('apply.backend');
    const activated = await store.transaction(async (trx) => {
      const done = await store.activate(trx, mailbox.id, serverDataFingerprint(access));
      const target = `mailbox:${mailbox.address}`;
      if (done) await auditLog.record(trx, { ...actor, action: 'mailbox.create', target });
      return done;
    });
    // A concurrent attempt has either finished the mailbox, or failed and deleted it.
    if (!activated && (await store.findById(mailbox.id))?.mailbox.state !== 'active')
      throw new AppError('mailbox_unfinished');
    onFaultPoint('apply.active');
    return 'active';
  }

  /**
   * Makes the pending application password the only one.
   * @throws mailbox_unreachable (nothing changed), mailbox_unfinished
   */
  async finishAppPassword(
    mailbox: MailboxRow,
    app: AppPasswordRow,
    actor: Partial<Actor>,
    fresh: boolean,
  ): Promise<void> {
    const { store, backend, auditLog, clock, onFaultPoint } = this.#dependencies;
    const { pending_ref: ref, pending_hash: passwordHash } = app;
    if (ref === null || passwordHash === null) return;
    try {
      await backend.setAppPassword(mailbox.address, { ref, passwordHash, protocols: protocolsOf(app) });
    } catch (error) {
      const undone = error instanceof BackendError && error.kind !== 'uncertain' && fresh;
      if (undone) await store.clearPendingAppPassword(mailbox.id, ref);
      throw this.#toFailure(error, 'mailbox.app-password', mailbox);
    }
    onFaultPoint('regenerate.backend');
    const completed = await store.transaction(async (trx) => {
      const done = await store.activatePendingAppPassword(trx, mailbox.id, ref, clock.now());
      const target = `mailbox:${mailbox.address}`;
      if (done) await auditLog.record(trx, { ...actor, action: 'mailbox.app-password.replace', target });
      return done;
    });
    if (!completed) return this.#withdraw(mailbox, ref);
    onFaultPoint('regenerate.complete');
    await this.endSessions(mailbox, ref);
    onFaultPoint('regenerate.sessions');
  }

  /** Ends sessions of the password before `ref`; if the server is unreachable, the reconciler retries. */
  async endSessions(mailbox: MailboxRow, ref: string): Promise<void> {
    const { store, backend, log } = this.#dependencies;
    try {
      await backend.endSessions(mailbox.address);
      await store.clearSessionEndDue(mailbox.id, ref);
    } catch (error) {
      if (!(error instanceof BackendError)) throw error;
      log.warn({ err: error, mailbox: mailbox.id }, 'open mail sessions could not be ended yet');
    }
  }

  /** Removes a password that another request has replaced. It was never shown and must not stay on the server. */
  async #withdraw(mailbox: MailboxRow, ref: string): Promise<void> {
    const { app } = (await this.#dependencies.store.findById(mailbox.id)) ?? {};
    // Or another process has completed this same password.
    if (app?.ref === ref || app?.pending_ref === ref) return;
    await this.#dependencies.backend.removeAppPassword(mailbox.address, ref).catch((error: unknown) => {
      this.#dependencies.log.warn(
        { err: error, mailbox: mailbox.id },
        'a superseded application password is left to the reconciler',
      );
    });
    throw new AppError('mailbox_unfinished');
  }

  #toFailure(error: unknown, step: string, mailbox: MailboxRow): unknown {
    if (!(error instanceof BackendError)) return error;
    this.#dependencies.log.error({ err: error, kind: error.kind, step, mailbox: mailbox.id }, 'the mail server failed');
    return new AppError(error.kind === 'uncertain' ? 'mailbox_unfinished' : 'mailbox_unreachable', { cause: error });
  }
}

/** A hash that no password matches, in Dovecot's form. */
const UNMATCHABLE_HASH = '{CRYPT}!';

/** The hash of an account's password in Dovecot's form, as in the view `mail_auth_mailbox`; imported ones are bcrypt. */
const toDovecotHash = (hash: string): string => `${hash.startsWith('$2') ? '{BLF-CRYPT}' : '{ARGON2ID}'}${hash}`;

/** The data of a mailbox the mail server should currently have. */
export function toMailboxServerData({ mailbox, enabled, accountHash }: MailboxWithApp): MailboxServerData {
  const own = mailbox.password_hash ?? UNMATCHABLE_HASH;
  const legacy = accountHash === null ? UNMATCHABLE_HASH : toDovecotHash(accountHash);
  return {
    address: mailbox.address,
    ref: mailbox.ref,
    passwordHash: mailbox.password_source === 'account' ? legacy : own,
    active: enabled,
    isKnownOurs: mailbox.state === 'active',
  };
}

/** Changes whenever the mail server must be updated: after a ban, or a new account password of a legacy mailbox. */
export const serverDataFingerprint = (access: MailboxServerData): string =>
  `${access.active ? 1 : 0} ${access.passwordHash}`;
