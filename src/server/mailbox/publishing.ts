import type { Audit, AuditEntry } from '../accounts/audit.ts';
import type { Clock } from '../platform/clock.ts';
import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { BackendError, MAIL_PROTOCOLS, type MailBackend, type MailProtocol } from './backend.ts';
import { accessOf, fingerprint } from './published.ts';
import type { AppPasswordRow, MailboxRow, MailboxStore, MailboxWithApp } from './store.ts';

/** Places between two steps where a test ends the process. */
export type MailFaultPoint =
  | 'apply.intent'
  | 'apply.backend'
  | 'apply.active'
  | 'regenerate.intent'
  | 'regenerate.backend'
  | 'regenerate.complete'
  | 'regenerate.sessions';

/** Who asked, for the audit log. */
export type Trace = Pick<AuditEntry, 'actorId' | 'address' | 'requestId'>;

export interface PublishingParts {
  readonly store: MailboxStore;
  readonly backend: MailBackend;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly log: Log;
  readonly at: (point: MailFaultPoint) => void;
}

export const protocolsOf = (app: AppPasswordRow): MailProtocol[] =>
  MAIL_PROTOCOLS.filter((protocol) => app[protocol] === 1);

/**
 * Carries what our rows intend to the mail server and notes that it is done.
 *
 * The intent is always on the disk before the server is called, and each call may be repeated, so whoever comes next, a
 * caller or the reconciler, finishes what a crash left. An intent is taken back only when the server certainly did nothing.
 */
export class Publishing {
  readonly #parts: PublishingParts;
  constructor(parts: PublishingParts) {
    this.#parts = parts;
  }

  /**
   * Makes an unfinished mailbox active; `taken` when the server gives its address to somebody else (the row is gone then).
   * @throws mailbox_unreachable, mailbox_unfinished
   */
  async finishMailbox(found: MailboxWithApp, trace: Trace): Promise<'active' | 'taken'> {
    const { store, backend, audit, at } = this.#parts;
    const { mailbox } = found;
    const attempt = await store.beginAttempt(mailbox.id);
    if (attempt === undefined) {
      if ((await store.ofId(mailbox.id))?.mailbox.state === 'active') return 'active';
      throw new AppError('mailbox_unfinished');
    }
    const access = accessOf(found);
    try {
      await backend.ensureMailbox(access);
    } catch (error) {
      if (error instanceof BackendError && error.kind === 'taken') {
        await store.takeBack(mailbox.id, attempt);
        return 'taken';
      }
      // A later attempt cannot know what the ones before it have done.
      const undone = error instanceof BackendError && error.kind !== 'uncertain' && attempt === 1;
      if (undone) await store.takeBack(mailbox.id, attempt);
      throw this.#toFailure(error, 'mailbox.create', mailbox);
    }
    at('apply.backend');
    const activated = await store.transaction(async (trx) => {
      const done = await store.activate(trx, mailbox.id, fingerprint(access));
      const target = `mailbox:${mailbox.address}`;
      if (done) await audit.record(trx, { ...trace, action: 'mailbox.create', target });
      return done;
    });
    // Whoever else was at it has either finished it, or seen a failure and taken it back.
    if (!activated && (await store.ofId(mailbox.id))?.mailbox.state !== 'active')
      throw new AppError('mailbox_unfinished');
    at('apply.active');
    return 'active';
  }

  /**
   * Makes the application password on its way the only one.
   * @throws mailbox_unreachable (nothing changed), mailbox_unfinished
   */
  async finishApp(mailbox: MailboxRow, app: AppPasswordRow, trace: Trace, fresh: boolean): Promise<void> {
    const { store, backend, audit, clock, at } = this.#parts;
    const { next_ref: ref, next_hash: passwordHash } = app;
    if (ref === null || passwordHash === null) return;
    try {
      await backend.setAppPassword(mailbox.address, { ref, passwordHash, protocols: protocolsOf(app) });
    } catch (error) {
      const undone = error instanceof BackendError && error.kind !== 'uncertain' && fresh;
      if (undone) await store.dropNext(mailbox.id, ref);
      throw this.#toFailure(error, 'mailbox.app-password', mailbox);
    }
    at('regenerate.backend');
    const completed = await store.transaction(async (trx) => {
      const done = await store.completeNext(trx, mailbox.id, ref, clock.now());
      const target = `mailbox:${mailbox.address}`;
      if (done) await audit.record(trx, { ...trace, action: 'mailbox.app-password.replace', target });
      return done;
    });
    if (!completed) return this.#withdraw(mailbox, ref);
    at('regenerate.complete');
    await this.endSessions(mailbox, ref);
    at('regenerate.sessions');
  }

  /** Ends what the password before `ref` opened; a server that cannot be reached is asked again by the reconciler. */
  async endSessions(mailbox: MailboxRow, ref: string): Promise<void> {
    const { store, backend, log } = this.#parts;
    try {
      await backend.endSessions(mailbox.address);
      await store.sessionsEnded(mailbox.id, ref);
    } catch (error) {
      if (!(error instanceof BackendError)) throw error;
      log.warn({ err: error, mailbox: mailbox.id }, 'open mail sessions could not be ended yet');
    }
  }

  /** Somebody replaced the password while we were at the server; ours was shown to nobody and must not stay there. */
  async #withdraw(mailbox: MailboxRow, ref: string): Promise<void> {
    const { app } = (await this.#parts.store.ofId(mailbox.id)) ?? {};
    // Another process may just as well have completed the very same one.
    if (app?.ref === ref || app?.next_ref === ref) return;
    await this.#parts.backend.removeAppPassword(mailbox.address, ref).catch((error: unknown) => {
      this.#parts.log.warn(
        { err: error, mailbox: mailbox.id },
        'a superseded application password is left to the reconciler',
      );
    });
    throw new AppError('mailbox_unfinished');
  }

  #toFailure(error: unknown, step: string, mailbox: MailboxRow): unknown {
    if (!(error instanceof BackendError)) return error;
    this.#parts.log.error({ err: error, kind: error.kind, step, mailbox: mailbox.id }, 'the mail server failed');
    return new AppError(error.kind === 'uncertain' ? 'mailbox_unfinished' : 'mailbox_unreachable', { cause: error });
  }
}
