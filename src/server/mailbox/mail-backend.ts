import type { Metrics } from '../platform/metrics.ts';

/** Protocols a credential can be limited to; the words of the contract's `protocols`. */
export const MAIL_PROTOCOLS = ['imap', 'smtp', 'pop3'] as const;
/** Ports of the three over TLS, which are the only ones that clients are told. */
export const MAIL_PORTS = { imap: 993, smtp: 465, pop3: 995 } as const;
export type MailProtocol = (typeof MAIL_PROTOCOLS)[number];

/**
 * Result of checking a password on the mail server.
 * `unknown`: the server was unreachable or gave no result, so the password may be right or wrong.
 */
export type CheckResult = 'accepted' | 'refused' | 'unknown';

/** The data of a mailbox that a mail server needs. */
export interface MailboxServerData {
  /** Lower-case `local@domain`. */
  readonly address: string;
  /** Marks the mailbox as ours on a server that others use too; letters and digits, unique for ever. */
  readonly ref: string;
  /** `{SCHEME}hash` as Dovecot reads it; a backend never needs the clear text. */
  readonly passwordHash: string;
  /** False while the account is disabled: nobody logs in, mail still arrives. */
  readonly active: boolean;
  /** Our records say that it is ours already, so it need not carry our mark: it was handed over, or made before. */
  readonly isKnownOurs: boolean;
}

/** The one application password of a mailbox. */
export interface AppPasswordServerData {
  /** Names this generation of the password on the mail server; letters and digits, unique for ever. */
  readonly ref: string;
  readonly passwordHash: string;
  readonly protocols: readonly MailProtocol[];
}

/** A secret in clear text, held only while it is checked. */
export interface PresentedPassword {
  readonly ref: string;
  readonly secret: string;
  readonly protocols: readonly MailProtocol[];
}

/** What the reconciler compares with our records. */
interface BackendMailbox {
  readonly address: string;
  readonly ref: string;
  readonly active: boolean;
  /** Refs of the application passwords that carry our mark. */
  readonly appRefs: readonly string[];
}

/**
 * - `unavailable`: nothing was changed there, for certain (refused connection, login of the service refused, server
 *   reports that it is shutting down)
 * - `uncertain`: the request was sent and no response arrived; it may have taken effect
 * - `taken`: the address belongs to somebody else on that server
 * - `rejected`: the server understood and refuses (policy, quota, unknown domain): the operator has to act
 */
type BackendFailure = 'unavailable' | 'uncertain' | 'taken' | 'rejected';

/** An operation of a mail server failed. The message is for the log and never contains a secret. */
export class BackendError extends Error {
  readonly kind: BackendFailure;
  constructor(kind: BackendFailure, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'BackendError';
    this.kind = kind;
  }
}

/**
 * A mail server that keeps the mailboxes.
 *
 * Every call may be repeated with the same arguments and then changes nothing more, so that a saga which died between
 * our database and the server is simply run again. Calls end within about 10 s and throw `BackendError` alone.
 */
export interface MailBackend {
  readonly id: 'sandbox' | 'dovecot' | 'mailcow';
  /** Longest time a replaced password may still open new sessions, in seconds. */
  readonly revokeLagSeconds: number;
  /**
   * Creates the mailbox, or updates an existing one with the same `ref` (password, active).
   * Throws `taken` when the address exists without our `ref` and is not `known` to be ours.
   */
  ensureMailbox(mailbox: MailboxServerData): Promise<void>;
  /** Makes this the only application password of ours at the mailbox; earlier ones are gone when it returns. */
  setAppPassword(address: string, password: AppPasswordServerData): Promise<void>;
  /** Ends the application password with this ref; absent is fine. */
  removeAppPassword(address: string, ref: string): Promise<void>;
  /** Checks each protocol; never throws, never counts against the caller's IP, ends when `signal` aborts. */
  check(
    address: string,
    password: PresentedPassword,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<MailProtocol, CheckResult>>;
  /** Ends open sessions of the mailbox where the server can. */
  endSessions(address: string): Promise<void>;
  /** Removes the mailbox with its mail; absent is fine. */
  removeMailbox(address: string, ref: string): Promise<void>;
  /** Everything on the server with our mark; undefined where our own database is the server's only source. */
  list(): Promise<readonly BackendMailbox[] | undefined>;
}

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
