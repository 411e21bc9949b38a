import {
  type AppPasswordAccess,
  BackendError,
  type MailBackend,
  type MailboxAccess,
  type MailProtocol,
  type PresentedPassword,
  type Verdict,
} from '../backend.ts';
import { matchesGenerated } from '../passwords.ts';
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
/** Our mark at the end of a mailbox's display name, the one free text mailcow gives back. */
const MARK = /\brg-([0-9a-f]{20})$/;

/**
 * A mailcow through its HTTP API.
 *
 * It is given `{SSHA512}` hashes, which it stores as they are, so it never sees a password of ours. An application
 * password answers with no id when it is made: its unique name, known to our rows beforehand, finds it again. mailcow's
 * Dovecot remembers logins for 300 s and nothing flushes that, hence `revokeLagSeconds`.
 */
export function createMailcowBackend(api: MailcowApi, options: MailcowMailboxOptions): MailBackend {
  const at = encodeURIComponent;
  const mailboxOf = async (address: string) => readMailbox(await api.read(`get/mailbox/${at(address)}`));
  const appRows = async (address: string, signal?: AbortSignal) =>
    readAppRows(await api.read(`get/app-passwd/all/${at(address)}`, signal));

  /** Brings a mailbox that exists in line; false when there is none. */
  const adopt = async (access: MailboxAccess): Promise<boolean> => {
    const existing = await mailboxOf(access.address);
    if (existing === undefined) return false;
    if (!access.known && MARK.exec(existing.name)?.[1] !== access.ref)
      throw new BackendError('taken', 'the mailbox exists on mailcow and is not ours');
    await api.write('edit/mailbox', {
      items: [access.address],
      attr: { password: access.passwordHash, password2: access.passwordHash, active: access.active ? '1' : '0' },
    });
    return true;
  };

  const add = (access: MailboxAccess) => {
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
        // Another process of ours may have been faster with the very same mailbox.
        const beaten = error instanceof BackendError && error.kind === 'taken';
        if (!beaten || !(await adopt(access))) throw error;
      }
    },

    async setAppPassword(address, password) {
      const rows = await appRows(address);
      const name = APP_PREFIX + password.ref;
      const present = rows.find((row) => row.name === name);
      if (present === undefined || !fits(present, password)) {
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
        return new Map(password.protocols.map((protocol) => [protocol, verdictOf(row, protocol, password)]));
      } catch (error) {
        if (!(error instanceof BackendError)) throw error;
        return new Map<MailProtocol, Verdict>();
      }
    },

    // mailcow has no call for it.
    endSessions: () => Promise.resolve(),

    async removeMailbox(address, ref) {
      const existing = await mailboxOf(address);
      if (existing === undefined || MARK.exec(existing.name)?.[1] !== ref) return;
      await api.write('delete/mailbox', [address]);
    },

    async list() {
      const all = await api.read('get/mailbox/all');
      const ours = (Array.isArray(all) ? all : []).flatMap((entry) => {
        const mailbox = readMailbox(entry);
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
const isOn = (value: unknown): boolean => Number(value) === 1;

function fits(row: AppRow, password: AppPasswordAccess): boolean {
  const admits = (protocol: MailProtocol) => isOn(row[`${protocol}_access`]);
  return isOn(row.active) && row.password === password.passwordHash && password.protocols.every(admits);
}

/** mailcow shows the hash it keeps, so a password somebody else put in the place of ours is found out as well. */
function verdictOf(row: AppRow | undefined, protocol: MailProtocol, { secret }: PresentedPassword): Verdict {
  if (row === undefined || !isOn(row.active) || !isOn(row[`${protocol}_access`])) return 'refused';
  const matches = typeof row.password === 'string' ? matchesGenerated(secret, row.password) : undefined;
  return matches === false ? 'refused' : 'accepted';
}

/** Whatever is not there is an empty object, with HTTP 200. */
const isNothing = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && Object.keys(answer).length === 0;

const unreadable = (what: string) => new BackendError('unavailable', `mailcow ${what}: unreadable answer`);

function readMailbox(answer: unknown): Mailbox | undefined {
  if (isNothing(answer)) return undefined;
  const { username, name, active } = (answer ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof username !== 'string' || typeof name !== 'string') throw unreadable('get/mailbox');
  return { username, name, active: isOn(active) };
}

function readAppRows(answer: unknown): AppRow[] {
  if (isNothing(answer)) return [];
  if (!Array.isArray(answer)) throw unreadable('get/app-passwd');
  return answer.map((row: unknown): AppRow => {
    const { id, name } = (row ?? {}) as Readonly<Record<string, unknown>>;
    const isId = (typeof id === 'number' || typeof id === 'string') && Number.isInteger(Number(id));
    if (!isId || typeof name !== 'string') throw unreadable('get/app-passwd');
    return { ...(row as object), id: Number(id), name };
  });
}
