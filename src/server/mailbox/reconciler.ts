import { isAppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { BackendError, type MailBackend } from './mail-backend.ts';
import type { MailboxService } from './mailbox-service.ts';
import type { MailboxStore } from './mailbox-store.ts';
import { serverDataFingerprint, toMailboxServerData } from './provisioner.ts';

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
          if (serverDataFingerprint(access) === found.mailbox.provisioned_access) return;
          await backend.ensureMailbox(access);
          if (!access.active) await backend.endSessions(access.address);
          await store.setProvisioned(id, serverDataFingerprint(access));
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
