import type { Metrics } from '../platform/metrics.ts';
import {
  type AppPasswordServerData,
  BackendError,
  type BackendMailbox,
  type CheckResult,
  type MailBackend,
  type MailboxServerData,
  type MailProtocol,
  type PresentedPassword,
} from './mail-backend.ts';

/** A mail server whose operations are counted by their outcome: `ok`, or the kind of the failure. */
export class CountedMailBackend implements MailBackend {
  readonly id: MailBackend['id'];
  readonly revokeLagSeconds: number;
  readonly #backend: MailBackend;
  readonly #metrics: Pick<Metrics, 'recordMailServerCall'>;

  constructor(backend: MailBackend, metrics: Pick<Metrics, 'recordMailServerCall'>) {
    this.id = backend.id;
    this.revokeLagSeconds = backend.revokeLagSeconds;
    this.#backend = backend;
    this.#metrics = metrics;
  }

  ensureMailbox(mailbox: MailboxServerData): Promise<void> {
    return this.#counted(this.#backend.ensureMailbox(mailbox));
  }

  setAppPassword(address: string, password: AppPasswordServerData): Promise<void> {
    return this.#counted(this.#backend.setAppPassword(address, password));
  }

  removeAppPassword(address: string, ref: string): Promise<void> {
    return this.#counted(this.#backend.removeAppPassword(address, ref));
  }

  /** A check never throws; one without any result counts as `unavailable`. */
  async check(
    address: string,
    password: PresentedPassword,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<MailProtocol, CheckResult>> {
    const results = await this.#backend.check(address, password, signal);
    const isAnswered = [...results.values()].some((result) => result !== 'unknown');
    this.#metrics.recordMailServerCall(isAnswered ? 'ok' : 'unavailable');
    return results;
  }

  endSessions(address: string): Promise<void> {
    return this.#counted(this.#backend.endSessions(address));
  }

  removeMailbox(address: string, ref: string): Promise<void> {
    return this.#counted(this.#backend.removeMailbox(address, ref));
  }

  list(): Promise<readonly BackendMailbox[] | undefined> {
    return this.#counted(this.#backend.list());
  }

  async #counted<T>(operation: Promise<T>): Promise<T> {
    try {
      const result = await operation;
      this.#metrics.recordMailServerCall('ok');
      return result;
    } catch (error) {
      this.#metrics.recordMailServerCall(error instanceof BackendError ? error.kind : 'error');
      throw error;
    }
  }
}
