import type { Metrics } from '../platform/metrics.ts';

/** Protocols a credential can be limited to, as in the contract's `protocols`. */
export const MAIL_PROTOCOLS = ['imap', 'smtp', 'pop3'] as const;
/** Ports of the three protocols over TLS, the only ones given to clients. */
export const MAIL_PORTS = { imap: 993, smtp: 465, pop3: 995 } as const;
/** One of `MAIL_PROTOCOLS`. */
export type MailProtocol = (typeof MAIL_PROTOCOLS)[number];

/**
 * Result of checking a password on the mail server. `unknown`: the server was unreachable or gave no result, so the
 * password may be right or wrong.
 */
export type CheckResult = 'accepted' | 'refused' | 'unknown';

/** The data of a mailbox that a mail server needs. */
export interface MailboxServerData {
  /** Lower-case `local@domain`. */
  readonly address: string;
  /** Marks the mailbox as ours on a shared server; letters and digits, never reused. */
  readonly ref: string;
  /** `{SCHEME}hash` as Dovecot reads it; a backend never needs the clear text. */
  readonly passwordHash: string;
  /** False while the account is disabled: logins are refused, mail still arrives. */
  readonly active: boolean;
  /**
   * Whether our records already list the mailbox, which then need not carry our mark: it was adopted, or created
   * earlier.
   */
  readonly isKnownOurs: boolean;
}

/** The one application password of a mailbox. */
export interface AppPasswordServerData {
  /** Identifies this generation of the password on the mail server; letters and digits, never reused. */
  readonly ref: string;
  readonly passwordHash: string;
  readonly protocols: readonly MailProtocol[];
}

/** A secret in clear text, held only during a check. */
export interface PresentedPassword {
  readonly ref: string;
  readonly secret: string;
  readonly protocols: readonly MailProtocol[];
}

/** A mailbox on the server, for comparison with our records. */
interface BackendMailbox {
  readonly address: string;
  readonly ref: string;
  readonly active: boolean;
  /** Refs of the application passwords that carry our mark. */
  readonly appRefs: readonly string[];
}

/**
 * - `unavailable`: the server certainly changed nothing (connection refused, service login refused, server shutting
 *   down)
 * - `uncertain`: the request was sent and no response arrived; the change may have been applied
 * - `taken`: the address belongs to someone else on that server
 * - `rejected`: the server refused the request (policy, quota, unknown domain); the operator must act
 */
type BackendFailure = 'unavailable' | 'uncertain' | 'taken' | 'rejected';

/** A failed operation of a mail server. The message is for the log and never contains a secret. */
export class BackendError extends Error {
  readonly kind: BackendFailure;
  constructor(kind: BackendFailure, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'BackendError';
    this.kind = kind;
  }
}

/**
 * A mail server that stores the mailboxes.
 *
 * Every call is idempotent, so that a saga that died between our database and the server can simply be run again. Calls
 * end within about 10 s and throw only `BackendError`.
 */
export interface MailBackend {
  readonly id: 'sandbox' | 'dovecot' | 'mailcow';
  /** Longest time in seconds that a replaced password may still open new sessions. */
  readonly revokeLagSeconds: number;
  /**
   * Creates the mailbox, or updates an existing one with the same `ref` (password, active). Throws `taken` if the
   * address exists without our `ref` and is not `known` to be ours.
   */
  ensureMailbox(mailbox: MailboxServerData): Promise<void>;
  /** Makes this our only application password of the mailbox; earlier ones are removed when the call returns. */
  setAppPassword(address: string, password: AppPasswordServerData): Promise<void>;
  /** Removes the application password with this ref, if present. */
  removeAppPassword(address: string, ref: string): Promise<void>;
  /** Checks each protocol. Never throws, never counts against the caller's IP, and ends when `signal` aborts. */
  check(
    address: string,
    password: PresentedPassword,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<MailProtocol, CheckResult>>;
  /** Ends open sessions of the mailbox if the server supports it. */
  endSessions(address: string): Promise<void>;
  /** Removes the mailbox with its mail, if present. */
  removeMailbox(address: string, ref: string): Promise<void>;
  /** All objects on the server with our mark; undefined if our own database is the server's only source. */
  list(): Promise<readonly BackendMailbox[] | undefined>;
}

/** Counts a mail server's operations by outcome: `ok`, or the kind of the failure. */
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
