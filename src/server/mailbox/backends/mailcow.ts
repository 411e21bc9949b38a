import type { Clock } from '../../platform/clock.ts';
import { type OutboundClient, OutboundError } from '../../platform/outbound/outbound.ts';
import {
  type AppPasswordServerData,
  BackendError,
  type CheckResult,
  type MailBackend,
  type MailboxServerData,
  type MailProtocol,
  type PresentedPassword,
} from '../mail-backend.ts';
import { matchesGeneratedPassword } from '../passwords.ts';

interface Mailbox {
  readonly username: string;
  readonly name: string;
  readonly active: boolean;
}
type AppRow = Readonly<Record<string, unknown>> & { readonly id: number; readonly name: string };

interface MailcowMailboxOptions {
  /** Size of a new mailbox in MiB. */
  readonly quotaMib: number;
}

const APP_PREFIX = 'reelgate-';
/** Our mark at the end of a mailbox's display name, the only free text that mailcow returns. */
const MARK = /\brg-([0-9a-f]{20})$/;

/**
 * A mailcow server, through its HTTP API.
 *
 * Sends `{SSHA512}` hashes, which mailcow stores unchanged, so it never sees a clear password. Creating an application
 * password does not return its id, so it is found by its unique name, which our rows store beforehand. mailcow's
 * Dovecot caches logins for 300 s and the API cannot flush them, hence `revokeLagSeconds`.
 */
export function createMailcowBackend(api: MailcowApi, options: MailcowMailboxOptions): MailBackend {
  const at = encodeURIComponent;
  const mailboxOf = async (address: string) => parseMailbox(await api.read(`get/mailbox/${at(address)}`));
  const appRows = async (address: string, signal?: AbortSignal) =>
    parseAppPasswords(await api.read(`get/app-passwd/all/${at(address)}`, signal));

  /** Updates an existing mailbox to the given access; returns false if there is none. */
  const adopt = async (access: MailboxServerData): Promise<boolean> => {
    const existing = await mailboxOf(access.address);
    if (existing === undefined) return false;
    if (!access.isKnownOurs && MARK.exec(existing.name)?.[1] !== access.ref)
      throw new BackendError('taken', 'the mailbox exists on mailcow and is not ours');
    await api.write('edit/mailbox', {
      items: [access.address],
      attr: { password: access.passwordHash, password2: access.passwordHash, active: access.active ? '1' : '0' },
    });
    return true;
  };

  const add = (access: MailboxServerData) => {
    const [local, domain] = access.address.split('@');
    return api.write('add/mailbox', {
      local_part: local,
      domain,
      name: `${local} rg-${access.ref}`,
      authsource: 'mailcow',
      password: access.passwordHash,
      password2: access.passwordHash,
      quota: String(options.quotaMib),
      active: access.active ? '1' : '0',
      force_pw_update: '0',
      tls_enforce_in: '0',
      tls_enforce_out: '0',
      protocol_access: ['imap', 'pop3', 'smtp'],
    });
  };

  const removeRows = async (rows: readonly AppRow[]) => {
    for (const { id } of rows) await api.write('delete/app-passwd', [String(id)]);
  };

  return {
    id: 'mailcow',
    revokeLagSeconds: 300,

    async ensureMailbox(access) {
      if (await adopt(access)) return;
      try {
        await add(access);
      } catch (error) {
        // Another of our processes may have created the same mailbox concurrently.
        const beaten = error instanceof BackendError && error.kind === 'taken';
        if (!beaten || !(await adopt(access))) throw error;
      }
    },

    async setAppPassword(address, password) {
      const rows = await appRows(address);
      const name = APP_PREFIX + password.ref;
      const present = rows.find((row) => row.name === name);
      if (present === undefined || !matchesAppPassword(present, password)) {
        if (present !== undefined) await removeRows([present]);
        await api.write('add/app-passwd', {
          username: address,
          app_name: name,
          app_passwd: password.passwordHash,
          app_passwd2: password.passwordHash,
          active: '1',
          protocols: password.protocols.map((protocol) => `${protocol}_access`),
        });
      }
      await removeRows(rows.filter((row) => row.name.startsWith(APP_PREFIX) && row.name !== name));
    },

    async removeAppPassword(address, ref) {
      await removeRows((await appRows(address)).filter((row) => row.name === APP_PREFIX + ref));
    },

    async check(address, password, signal) {
      try {
        const row = (await appRows(address, signal)).find(({ name }) => name === APP_PREFIX + password.ref);
        return new Map(password.protocols.map((protocol) => [protocol, toCheckResult(row, protocol, password)]));
      } catch (error) {
        if (!(error instanceof BackendError)) throw error;
        return new Map<MailProtocol, CheckResult>();
      }
    },

    // mailcow's API cannot end sessions.
    endSessions: () => Promise.resolve(),

    async removeMailbox(address, ref) {
      const existing = await mailboxOf(address);
      if (existing === undefined || MARK.exec(existing.name)?.[1] !== ref) return;
      await api.write('delete/mailbox', [address]);
    },

    async list() {
      const all = await api.read('get/mailbox/all');
      const ours = (Array.isArray(all) ? all : []).flatMap((entry) => {
        const mailbox = parseMailbox(entry);
        const ref = MARK.exec(mailbox?.name ?? '')?.[1];
        return mailbox === undefined || ref === undefined ? [] : [{ ...mailbox, ref }];
      });
      const found = [];
      for (const { username: address, ref, active } of ours) {
        const names = (await appRows(address)).map((row) => row.name).filter((name) => name.startsWith(APP_PREFIX));
        found.push({ address, ref, active, appRefs: names.map((name) => name.slice(APP_PREFIX.length)) });
      }
      return found;
    },
  };
}

/** Flags arrive as 0/1 or as text, depending on the call and the release. */
const isEnabled = (value: unknown): boolean => Number(value) === 1;

function matchesAppPassword(row: AppRow, password: AppPasswordServerData): boolean {
  const admits = (protocol: MailProtocol) => isEnabled(row[`${protocol}_access`]);
  return isEnabled(row.active) && row.password === password.passwordHash && password.protocols.every(admits);
}

/**
 * Compares the stored hash that mailcow returns, which also detects a password replaced on the server by someone else.
 */
function toCheckResult(row: AppRow | undefined, protocol: MailProtocol, { secret }: PresentedPassword): CheckResult {
  if (row === undefined || !isEnabled(row.active) || !isEnabled(row[`${protocol}_access`])) return 'refused';
  const matches = typeof row.password === 'string' ? matchesGeneratedPassword(secret, row.password) : undefined;
  return matches === false ? 'refused' : 'accepted';
}

/** mailcow answers for a missing object with an empty object and HTTP 200. */
const isEmptyObject = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && Object.keys(answer).length === 0;

const unreadableResponse = (what: string) => new BackendError('unavailable', `mailcow ${what}: unreadable answer`);

function parseMailbox(answer: unknown): Mailbox | undefined {
  if (isEmptyObject(answer)) return undefined;
  const { username, name, active } = (answer ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof username !== 'string' || typeof name !== 'string') throw unreadableResponse('get/mailbox');
  return { username, name, active: isEnabled(active) };
}

function parseAppPasswords(answer: unknown): AppRow[] {
  if (isEmptyObject(answer)) return [];
  if (!Array.isArray(answer)) throw unreadableResponse('get/app-passwd');
  return answer.map((row: unknown): AppRow => {
    const { id, name } = (row ?? {}) as Readonly<Record<string, unknown>>;
    const isId = (typeof id === 'number' || typeof id === 'string') && Number.isInteger(Number(id));
    if (!isId || typeof name !== 'string') throw unreadableResponse('get/app-passwd');
    return { ...(row as object), id: Number(id), name };
  });
}

interface MailcowSettings {
  /** `https://mail.example.org` */
  readonly url: string;
  /** A read-write API key. */
  readonly apiKey: string;
}

/** mailcow counts wrong keys and then blocks the caller's IP on every port, so requests pause after one wrong key. */
const WRONG_KEY_PAUSE_MS = 10 * 60_000;

/** Codes in mailcow's `msg` that mean a taken address; every other refusal needs the operator. */
const TAKEN = new Set(['object_exists', 'is_alias', 'is_spam_alias', 'is_alias_or_mailbox']);
const GONE = new Set(['app_passwd_id_invalid']);

/**
 * Client of mailcow's HTTP API: `X-API-Key`, JSON both ways, writes by POST only. A refused write returns HTTP 200 with
 * an array of `{type, log, msg}`, so the status is not sufficient; reading an unknown object returns 200 and `{}`.
 * Responses can contain passwords and are never logged.
 */
export class MailcowApi {
  readonly #settings: MailcowSettings;
  readonly #outbound: OutboundClient;
  readonly #clock: Clock;
  #silentUntil = 0;

  constructor(settings: MailcowSettings, outbound: OutboundClient, clock: Clock) {
    this.#settings = settings;
    this.#outbound = outbound;
    this.#clock = clock;
  }

  read(path: string, signal?: AbortSignal): Promise<unknown> {
    return this.#call('GET', path, undefined, signal);
  }

  /** @returns false if the object to change does not exist */
  async write(path: string, body: unknown): Promise<boolean> {
    const answer = await this.#call('POST', path, body);
    const outcomes = Array.isArray(answer) ? answer.map(readOutcome) : [];
    // After an unreadable response it is unknown whether the change was applied.
    if (outcomes.length === 0 || outcomes.includes('unreadable'))
      throw new BackendError('uncertain', `mailcow ${path}: unreadable answer`);
    const refusal = outcomes.find((outcome) => outcome !== 'done');
    if (refusal === undefined) return true;
    if (GONE.has(refusal)) return false;
    throw new BackendError(TAKEN.has(refusal) ? 'taken' : 'rejected', `mailcow ${path}: ${refusal}`);
  }

  async #call(method: 'GET' | 'POST', path: string, body?: unknown, signal?: AbortSignal): Promise<unknown> {
    if (this.#clock.now() < this.#silentUntil)
      throw new BackendError('unavailable', 'mailcow refused our API key; it is not asked again for ten minutes');
    const uncertain = method === 'POST' ? 'uncertain' : 'unavailable';
    const answer = await this.#outbound
      .requestJson({
        method,
        url: `${this.#settings.url}/api/v1/${path}`,
        headers: { 'x-api-key': this.#settings.apiKey, 'content-type': 'application/json', accept: 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal,
        private: true,
        connectTimeoutMs: 3_000,
        totalTimeoutMs: 8_000,
      })
      .catch((cause: unknown) => {
        const arrived = !(cause instanceof OutboundError) || cause.mayHaveArrived;
        throw new BackendError(arrived ? uncertain : 'unavailable', `mailcow ${path}: no answer`, { cause });
      });
    if (answer.status === 401) this.#silentUntil = this.#clock.now() + WRONG_KEY_PAUSE_MS;
    if (answer.status === 401 || answer.status === 403)
      throw new BackendError(
        'unavailable',
        `mailcow ${path}: HTTP ${answer.status}, check the API key and its address list`,
      );
    if (answer.status >= 400 && answer.status < 500)
      throw new BackendError('rejected', `mailcow ${path}: HTTP ${answer.status}`);
    if (answer.status !== 200 || answer.json === undefined)
      throw new BackendError(uncertain, `mailcow ${path}: HTTP ${answer.status}`);
    return answer.json;
  }
}

/** `done`, or the code of a refusal: `msg` is a code, or a list that starts with one. */
function readOutcome(entry: unknown): string {
  const { type, msg } = (entry ?? {}) as { type?: unknown; msg?: unknown };
  if (type === 'success' || type === 'warning') return 'done';
  const code = Array.isArray(msg) ? msg[0] : msg;
  return (type === 'danger' || type === 'error') && typeof code === 'string' ? code : 'unreadable';
}
