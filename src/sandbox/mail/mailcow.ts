import { createHash } from 'node:crypto';
import {
  defineSimulator,
  jsonResponse,
  type ProblemKind,
  type Simulator,
  type SimulatorRequest,
  type SimulatorResponse,
} from '../simulator.ts';
import type { Protocol } from './mail-store.ts';

/**
 * mailcow's `/api/v1`, written from its source. Writes return HTTP 200 with an array whether they worked or not,
 * unknown objects are `{}`, a new application password is returned without its id and is valid for no protocol unless
 * `protocols` is set.
 */

const READ_WRITE_KEY = 'SANDBO-XREADW-RITE00-MAILCO-W00001';
const READ_ONLY_KEY = 'SANDBO-XREADO-NLY000-MAILCO-W00002';

interface MailboxRow {
  username: string;
  domain: string;
  local_part: string;
  name: string;
  password: string;
  active: number;
  access: ReadonlySet<string>;
}

interface AppRow {
  id: number;
  name: string;
  mailbox: string;
  password: string;
  active: number;
  access: ReadonlySet<string>;
}

/** A simulated mailcow with controls for tests. */
export interface MailcowSimulator {
  readonly simulator: Simulator;
  readonly readWriteKey: string;
  readonly readOnlyKey: string;
  /** Whether mailcow's Dovecot would accept the login. */
  authenticates(address: string, password: string, protocol: Protocol): boolean;
  exists(address: string): boolean;
  /** Creates a mailbox as the operator does in mailcow's own pages. */
  addMailboxManually(address: string): void;
  /** Deletes the application passwords of a mailbox without the service's knowledge. */
  deleteAppPasswords(address: string): void;
  /** Adds an application password created in mailcow's own pages, or left over from earlier. */
  addAppPasswordManually(address: string, name: string): void;
  passwordOf(address: string): string | undefined;
  addresses(): string[];
  appNames(address: string): string[];
}

const ACCESS = ['imap_access', 'smtp_access', 'pop3_access', 'dav_access', 'eas_access', 'sieve_access'] as const;

const PROBLEMS: Readonly<Record<ProblemKind, readonly [status: number, message: string]>> = {
  unauthorized: [401, 'authentication failed'],
  forbidden: [403, 'API read/write access denied'],
  billing: [403, 'access denied'],
  model: [404, 'route not found'],
  rate: [429, 'Too Many Requests'],
  concurrency: [429, 'Too Many Requests'],
  overloaded: [503, 'Service Unavailable'],
  broken: [500, 'Internal Server Error'],
  timeout: [504, 'Gateway Time-out'],
  policy: [200, 'password_complexity'],
  invalid: [400, 'Request body doesnt contain valid json!'],
  not_found: [404, 'route not found'],
};

const problem = (kind: ProblemKind, message?: string): SimulatorResponse => {
  const [status, text] = PROBLEMS[kind];
  return status === 200
    ? writeResult('danger', message ?? text)
    : jsonResponse(status, { type: 'error', msg: message ?? text });
};

/** One result of a write; the log repeats the request with masked passwords. */
const writeResult = (type: 'success' | 'danger', msg: unknown): SimulatorResponse =>
  jsonResponse(200, [{ type, log: ['mailbox', 'write', { password: '*' }, null], msg }]);

const asText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';
const asList = (value: unknown): string[] => (Array.isArray(value) ? value.map(asText) : []);
/** PHP's htmlspecialchars, which mailcow applies to every name. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
/** Hashes clear text; a text that is a hash already is stored unchanged. */
const hashed = (password: string): string =>
  /^\{[A-Z0-9-]+\}/.test(password) ? password : ssha512(password, 'salt5678');

function ssha512(password: string, salt: string): string {
  const digest = createHash('sha512').update(password).update(salt, 'latin1').digest();
  return `{SSHA512}${Buffer.concat([digest, Buffer.from(salt, 'latin1')]).toString('base64')}`;
}

function matches(password: string, hash: string): boolean {
  const salt = Buffer.from(hash.replace('{SSHA512}', ''), 'base64').subarray(64).toString('latin1');
  return hash.startsWith('{SSHA512}') && ssha512(password, salt) === hash;
}

/** Creates an empty mailcow for one domain. */
export function createMailcowSimulator(domain: string): MailcowSimulator {
  const mailboxes = new Map<string, MailboxRow>();
  let apps: AppRow[] = [];
  let nextId = 1;

  const show = ({ access, password: _, ...row }: MailboxRow) => ({
    ...row,
    active_int: row.active,
    quota: 1_073_741_824,
    authsource: 'mailcow',
    attributes: Object.fromEntries(ACCESS.map((name) => [name, access.has(name) ? '1' : '0'])),
  });
  const showApp = ({ access, ...row }: AppRow) => ({
    ...row,
    domain,
    ...Object.fromEntries(ACCESS.map((name) => [name, access.has(name) ? 1 : 0])),
  });

  const writes: Readonly<
    Record<string, (body: Readonly<Record<string, unknown>>, items: string[]) => SimulatorResponse>
  > = {
    'add/mailbox': (body) => {
      const local = asText(body.local_part).toLowerCase();
      const address = `${local}@${asText(body.domain)}`;
      if (!/^[a-z0-9._-]+$/.test(local)) return writeResult('danger', 'mailbox_invalid');
      if (asText(body.domain) !== domain) return writeResult('danger', ['domain_not_found', body.domain]);
      if (mailboxes.has(address)) return writeResult('danger', ['object_exists', address]);
      if (body.password !== body.password2) return writeResult('danger', 'password_mismatch');
      if (asText(body.password).length < 6) return writeResult('danger', 'password_complexity');
      mailboxes.set(address, {
        username: address,
        domain,
        local_part: local,
        name: escaped(asText(body.name)),
        password: hashed(asText(body.password)),
        active: Number(body.active ?? 0),
        access: new Set(asList(body.protocol_access).map((name) => `${name}_access`)),
      });
      return writeResult('success', ['mailbox_added', address]);
    },
    'edit/mailbox': (body, items) => {
      const attr = (body.attr ?? {}) as Readonly<Record<string, unknown>>;
      const row = mailboxes.get(items[0] ?? '');
      if (row === undefined) return writeResult('danger', 'access_denied');
      if (asText(attr.password) !== '') row.password = hashed(asText(attr.password));
      if (attr.active !== undefined) row.active = Number(attr.active);
      return writeResult('success', ['mailbox_modified', row.username]);
    },
    'delete/mailbox': (_, items) => {
      const address = items[0] ?? '';
      if (!mailboxes.delete(address)) return writeResult('danger', 'access_denied');
      apps = apps.filter((app) => app.mailbox !== address);
      return writeResult('success', ['mailbox_removed', address]);
    },
    'add/app-passwd': (body) => {
      const mailbox = asText(body.username);
      if (!mailboxes.has(mailbox)) return writeResult('danger', 'access_denied');
      // The field is named `app_passwd`; with any other name the password stays empty, without an error.
      if (body.app_passwd !== body.app_passwd2) return writeResult('danger', 'password_mismatch');
      apps.push({
        id: nextId++,
        name: escaped(asText(body.app_name)),
        mailbox,
        password: hashed(asText(body.app_passwd)),
        active: Number(body.active ?? 0),
        access: new Set(asList(body.protocols)),
      });
      return writeResult('success', 'app_passwd_added');
    },
    'delete/app-passwd': (_, items) => {
      const count = apps.length;
      apps = apps.filter((app) => String(app.id) !== items[0]);
      return apps.length === count
        ? writeResult('danger', 'app_passwd_id_invalid')
        : writeResult('success', ['app_passwd_removed', items[0]]);
    },
  };

  const write = (request: SimulatorRequest): SimulatorResponse => {
    const operation = request.path.slice('/api/v1/'.length);
    let body: unknown;
    try {
      body = JSON.parse(request.body.toString('utf8'));
    } catch {
      return problem('invalid');
    }
    const fields = (Array.isArray(body) ? {} : body) as Readonly<Record<string, unknown>>;
    const items = Array.isArray(body) ? body.map(asText) : asList(fields.items);
    return writes[operation]?.(fields, items) ?? problem('not_found');
  };
  const rowsOr = (rows: readonly unknown[]): SimulatorResponse => jsonResponse(200, rows.length === 0 ? {} : rows);

  const simulator = defineSimulator({
    name: 'mailcow',
    credentials: () => ({ api_key: READ_WRITE_KEY }),
    authorize(request) {
      const key = request.headers['x-api-key'];
      if (key === READ_WRITE_KEY) return undefined;
      if (key !== READ_ONLY_KEY) return problem('unauthorized');
      return request.method === 'GET' ? undefined : problem('forbidden');
    },
    problem,
    routes: [
      {
        method: 'GET',
        path: /^\/api\/v1\/get\/mailbox\/(?<address>[^/]+)$/,
        operation: 'query',
        handle: ({ params }) => {
          if (params.address === 'all') return rowsOr([...mailboxes.values()].map(show));
          const row = mailboxes.get(params.address ?? '');
          return jsonResponse(200, row === undefined ? {} : show(row));
        },
      },
      {
        method: 'GET',
        path: /^\/api\/v1\/get\/app-passwd\/all\/(?<address>[^/]+)$/,
        operation: 'query',
        handle: ({ params }) => rowsOr(apps.filter((app) => app.mailbox === params.address).map(showApp)),
      },
      { method: 'POST', path: /^\/api\/v1\/(add|edit|delete)\/[a-z-]+$/, operation: 'submit', handle: write },
    ],
  });

  return {
    simulator,
    readWriteKey: READ_WRITE_KEY,
    readOnlyKey: READ_ONLY_KEY,
    authenticates(address, password, protocol) {
      const mailbox = mailboxes.get(address);
      if (mailbox?.active !== 1) return false;
      const fits = (row: { password: string; access: ReadonlySet<string> }) =>
        row.access.has(`${protocol}_access`) && matches(password, row.password);
      return fits(mailbox) || apps.some((app) => app.mailbox === address && app.active === 1 && fits(app));
    },
    exists: (address) => mailboxes.has(address),
    addMailboxManually(address) {
      writes['add/mailbox']?.(
        {
          local_part: address.split('@')[0],
          domain,
          name: 'By hand',
          password: 'by hand',
          password2: 'by hand',
          active: 1,
          protocol_access: ['imap', 'smtp', 'pop3'],
        },
        [],
      );
    },
    deleteAppPasswords(address) {
      apps = apps.filter((app) => app.mailbox !== address);
    },
    addAppPasswordManually(address, name) {
      const passwd = { app_passwd: 'by hand', app_passwd2: 'by hand' };
      writes['add/app-passwd']?.({ username: address, app_name: name, ...passwd, active: '1', protocols: [] }, []);
    },
    passwordOf: (address) => mailboxes.get(address)?.password,
    addresses: () => [...mailboxes.keys()],
    appNames: (address) => apps.filter((app) => app.mailbox === address).map((app) => app.name),
  };
}
