import type { Clock } from '../platform/clock.ts';
import { isAppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { BackendError, type MailBackend } from './backend.ts';
import { accessOf, fingerprint } from './published.ts';
import type { Mailboxes } from './service.ts';
import type { MailboxStore } from './store.ts';

export interface ReconcilerParts {
  readonly store: MailboxStore;
  readonly backend: MailBackend;
  readonly mailboxes: Mailboxes;
  readonly clock: Clock;
  readonly log: Log;
}

/** What is younger may still be under way in another process. */
const GRACE_MS = 30_000;
const BATCH = 200;

/** Mends the difference between our records and the mail server. Every pass may run beside another one. */
export class Reconciler {
  readonly #parts: ReconcilerParts;
  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
  }

  /** Finishes what a crash or an unreachable server left half done. Answers how many there were. */
  async finishAll(): Promise<number> {
    const { store, mailboxes, clock } = this.#parts;
    const ids = await store.unfinished(clock.now() - GRACE_MS, BATCH);
    for (const id of ids) await this.#attempt(id, () => mailboxes.finish(id));
    return ids.length;
  }

  /** Tells the server of accounts that were disabled or enabled and of changed account passwords. */
  async publishAll(): Promise<void> {
    const { store, backend } = this.#parts;
    for (let last = 0; ; ) {
      const ids = await store.activeAfter(last, BATCH);
      for (const id of ids) {
        await this.#attempt(id, async () => {
          const found = await store.ofId(id);
          if (found === undefined) return;
          const access = accessOf(found);
          if (fingerprint(access) === found.mailbox.published) return;
          await backend.ensureMailbox(access);
          if (!access.active) await backend.endSessions(access.address);
          await store.setPublished(id, fingerprint(access));
        });
      }
      if (ids.length < BATCH) return;
      last = ids.at(-1) ?? last;
    }
  }

  /**
   * Removes application passwords of ours on the server that no record knows. Mailboxes nobody knows are only reported:
   * after a restored backup they hold mail that somebody misses.
   */
  async sweep(): Promise<void> {
    const { store, backend, log } = this.#parts;
    const listed = (await backend.list()) ?? [];
    for (const { address, ref, appRefs } of listed) {
      const id = await store.idOfRef(ref);
      if (id === undefined) {
        log.warn({ address }, 'the mail server has a mailbox of ours that no record knows');
        continue;
      }
      await this.#attempt(id, async () => {
        const { app } = (await store.ofId(id)) ?? {};
        for (const appRef of appRefs)
          if (appRef !== app?.ref && appRef !== app?.next_ref) await backend.removeAppPassword(address, appRef);
      });
    }
  }

  /** One mailbox the server cannot take must not keep the others waiting. */
  async #attempt(id: number, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof BackendError) && !isAppError(error)) throw error;
      this.#parts.log.warn({ err: error, mailbox: id }, 'a mailbox could not be reconciled yet');
    }
  }
}
