import { matchesGeneratedPassword } from '../generate-hash-and-match-passwords.ts';
import {
  type AppPasswordServerData,
  BackendError,
  type CheckResult,
  type MailBackend,
  type MailboxServerData,
  type MailProtocol,
  type PresentedPassword,
} from '../mail-backend.ts';
import type { MailcowApi } from './mailcow-api.ts';

interface Mailbox {
  readonly username: string;
  readonly name: string;
  readonly active: boolean;
}
type AppRow = Readonly<Record<string, unknown>> & { readonly id: number; readonly name: string };

export interface MailcowMailboxOptions {
  /** Size of a new mailbox in MiB. */
  readonly quotaMib: number;
}

const APP_PREFIX = 'reelgate-';
/** Our mark at the end of a mailbox's display name, the only free text that mailcow returns. */
const MARK = /\brg-([0-9a-f]{20})$/;

/**
 * A mailcow through its HTTP API.
 *
 * It is given `{SSHA512}` hashes, which it stores as they are, so it never sees a password of ours. An application
 * password is created without its id being returned, so it is found by its unique name, which our rows store beforehand. mailcow's
 * Dovecot caches logins for 300 s and the API cannot flush them, hence `revokeLagSeconds`.
 */
export function createMailcowBackend(api: MailcowApi, options: MailcowMailboxOptions): MailBackend {
  const at = encodeURIComponent;
  const mailboxOf = async (address: string) => parseMailbox(await api.read(`get/mailbox/${at(address)}`));
  const appRows = async (address: string, signal?: AbortSignal) =>
    parseAppPasswords(await api.read(`get/app-passwd/all/${at(address)}`, signal));

  /** Updates an existing mailbox to the given access; false when there is none. */
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
        // Another process of ours may have created the same mailbox at the same time.
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

/** Numbers come as 0/1 or as their text, depending on the call and the release. */
const isEnabled = (value: unknown): boolean => Number(value) === 1;

function matchesAppPassword(row: AppRow, password: AppPasswordServerData): boolean {
  const admits = (protocol: MailProtocol) => isEnabled(row[`${protocol}_access`]);
  return isEnabled(row.active) && row.password === password.passwordHash && password.protocols.every(admits);
}

/** mailcow returns the stored hash, so a password that somebody else replaced there is detected as well. */
function toCheckResult(row: AppRow | undefined, protocol: MailProtocol, { secret }: PresentedPassword): CheckResult {
  if (row === undefined || !isEnabled(row.active) || !isEnabled(row[`${protocol}_access`])) return 'refused';
  const matches = typeof row.password === 'string' ? matchesGeneratedPassword(secret, row.password) : undefined;
  return matches === false ? 'refused' : 'accepted';
}

/** For an object that does not exist mailcow returns an empty object with HTTP 200. */
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
