import { readFileSync } from 'node:fs';
import { LOCALES, type Locale } from '../../contract/messages/messages.ts';
import { makeAddressOf } from './address.ts';
import { SETTINGS, type Setting, type SettingName } from './settings.ts';

/** All settings, read once at start, checked and typed. Names are those of the environment, in camel case. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly baseUrl: string;
  readonly allowHttp: boolean;
  readonly databaseUrl: string;
  readonly databasePool: number;
  readonly masterKey: string | undefined;
  readonly masterKeyPrevious: readonly string[];
  readonly adminUsername: string;
  readonly adminPassword: string | undefined;
  readonly registration: 'open' | 'closed';
  readonly newUserQuota: number;
  readonly quotaPerUnit: number;
  readonly lowQuota: number;
  readonly valkeyUrl: string | undefined;
  readonly logLevel: string;
  readonly defaultLocale: Locale;
  readonly trustProxy: readonly string[];
  readonly apiUserHeader: string;
  readonly metricsPort: number | undefined;
  readonly metricsToken: string | undefined;
  readonly sandbox: boolean;
  readonly deviceCodeTtlSeconds: number;
  readonly deviceCodesPerAddress: number;
  readonly deviceCodesPerClient: number;
  readonly refreshReuseWindowSeconds: number;
  readonly ambiguousSubmitTtlSeconds: number;
  readonly syncPeriodSeconds: number;
  readonly taskTimeoutHours: number;
  readonly chatFirstByteSeconds: number;
  readonly chatIdleSeconds: number;
  readonly chatTotalSeconds: number;
  readonly chatKeepAliveSeconds: number;
  readonly phoneDriver: 'log' | 'http';
  readonly phoneHttpUrl: string | undefined;
  readonly messagingVerifyUrl: string | undefined;
  readonly mailBackend: 'sandbox' | 'dovecot' | 'mailcow' | undefined;
  readonly mailDomain: string;
  readonly mailHost: string;
  readonly webmailUrl: string;
  readonly mailImapPort: number;
  readonly mailSmtpPort: number;
  readonly mailPop3Port: number;
  readonly mailAppPasswordProtocols: readonly ('imap' | 'smtp' | 'pop3')[];
  readonly mailDovecotAuthSocket: string | undefined;
  readonly mailDovecotAdminUrl: string | undefined;
  readonly mailDovecotAdminKey: string | undefined;
  readonly mailMailcowUrl: string | undefined;
  readonly mailMailcowKey: string | undefined;
  readonly mailMailcowQuotaMb: number;
}

/** A setting that cannot be used; the message is the one line shown before the process ends. */
export class ConfigError extends Error {
  constructor(setting: string, problem: string) {
    super(`${setting}: ${problem}`);
    this.name = 'ConfigError';
  }
}

/** Settings of sibling products that people bring along; each earns one hint, none is used. */
const FOREIGN: Readonly<Record<string, string>> = {
  SQL_DSN: 'DATABASE_URL',
  SESSION_SECRET: 'MASTER_KEY',
  REDIS_CONN_STRING: 'VALKEY_URL',
};

export interface LoadedConfig {
  readonly config: Config;
  /** Lines for the person who starts the service. */
  readonly hints: readonly string[];
}

/** Reads `.env` (where there is one; the environment wins) and the environment. Throws ConfigError on the first bad value. */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env, envFile = '.env'): LoadedConfig {
  const env = { ...readEnvFile(envFile), ...environment };
  const config = readConfig(env);
  const hints = Object.entries(FOREIGN)
    .filter(([name]) => env[name] !== undefined)
    .map(([name, ours]) => `${name} is another product's setting and is not read here; the one you want is ${ours}.`);
  return { config, hints };
}

/** The pure part: raw texts in, checked settings out. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const text = (name: SettingName): string | undefined => {
    const value = env[name]?.trim();
    return value === undefined || value === '' ? (SETTINGS[name] as Setting).default : value;
  };
  const need = (name: SettingName): string => {
    const value = text(name);
    if (value === undefined) throw new ConfigError(name, 'is required');
    return value;
  };
  const integer = (name: SettingName, least: number, most: number): number => {
    const value = need(name);
    if (!/^\d{1,15}$/.test(value) || Number(value) < least || Number(value) > most) {
      throw new ConfigError(name, `must be a whole number from ${least} to ${most}, not "${value}"`);
    }
    return Number(value);
  };
  const flag = (name: SettingName): boolean => {
    const value = need(name).toLowerCase();
    if (['1', 'true', 'yes', 'on'].includes(value)) return true;
    if (['0', 'false', 'no', 'off'].includes(value)) return false;
    throw new ConfigError(name, `must be 0 or 1, not "${value}"`);
  };
  const oneOf = <const T extends string>(name: SettingName, values: readonly T[]): T => {
    const value = need(name);
    const found = values.find((each) => each === value);
    if (found === undefined) throw new ConfigError(name, `must be one of ${values.join(', ')}, not "${value}"`);
    return found;
  };
  const someOf = <const T extends string>(name: SettingName, values: readonly T[]): T[] => {
    const given = need(name)
      .split(',')
      .map((each) => each.trim());
    const found = values.filter((each) => given.includes(each));
    if (found.length === 0 || found.length !== new Set(given).size)
      throw new ConfigError(name, `must be a comma-separated choice of ${values.join(', ')}`);
    return found;
  };
  const url = (name: SettingName, protocols: readonly string[]): string | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol)) {
      throw new ConfigError(name, `must be an address starting with ${protocols.map((p) => `${p}//`).join(' or ')}`);
    }
    return value.replace(/\/+$/, '');
  };

  const host = need('HOST');
  const port = integer('PORT', 0, 65535);
  const allowHttp = flag('ALLOW_HTTP');
  const baseUrl = url('BASE_URL', ['http:', 'https:']) ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  if (new URL(baseUrl).pathname !== '/') throw new ConfigError('BASE_URL', 'must not have a path');
  if (baseUrl.startsWith('http:') && !isLoopback(new URL(baseUrl).hostname) && !allowHttp) {
    throw new ConfigError(
      'BASE_URL',
      'must start with https:// off this machine (or set ALLOW_HTTP=1, knowing that passwords travel in clear)',
    );
  }
  const databaseUrl = need('DATABASE_URL');
  if (!/^(sqlite:|postgres:\/\/|postgresql:\/\/)/.test(databaseUrl)) {
    throw new ConfigError('DATABASE_URL', 'must start with sqlite: or postgres://');
  }
  const masterKey = text('MASTER_KEY');
  if (masterKey !== undefined && Buffer.from(masterKey, 'base64').length !== 32) {
    throw new ConfigError('MASTER_KEY', 'must be 32 bytes in base64 (make one with: openssl rand -base64 32)');
  }
  const masterKeyPrevious = (text('MASTER_KEY_PREVIOUS') ?? '').split(',').filter((each) => each.trim() !== '');
  if (masterKeyPrevious.some((each) => Buffer.from(each, 'base64').length !== 32)) {
    throw new ConfigError('MASTER_KEY_PREVIOUS', 'must be keys of 32 bytes in base64, separated by commas');
  }
  if (masterKey === undefined && !databaseUrl.startsWith('sqlite:')) {
    throw new ConfigError('MASTER_KEY', 'is required with PostgreSQL, since every replica must use the same key');
  }
  const sandbox = flag('SANDBOX');
  const mailBackend = text('MAIL_BACKEND');
  const phoneDriver = oneOf('PHONE_DRIVER', ['log', 'http']);
  const phoneHttpUrl = url('PHONE_HTTP_URL', ['http:', 'https:']);
  if (phoneDriver === 'http' && phoneHttpUrl === undefined)
    throw new ConfigError('PHONE_HTTP_URL', 'is required with PHONE_DRIVER=http');
  const mailDomain = need('MAIL_DOMAIN');
  if (!/^(?=.{1,190}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/.test(mailDomain))
    throw new ConfigError('MAIL_DOMAIN', 'must be a domain name in lower case');
  const trustProxy = (text('TRUST_PROXY') ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  try {
    makeAddressOf(trustProxy);
  } catch (error) {
    throw new ConfigError('TRUST_PROXY', (error as TypeError).message);
  }
  const header = need('API_USER_HEADER');
  if (!/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(header)) throw new ConfigError('API_USER_HEADER', 'must be a header name');
  const metricsPort = text('METRICS_PORT');

  return {
    host,
    port,
    baseUrl,
    allowHttp,
    databaseUrl,
    databasePool: integer('DATABASE_POOL', 1, 500),
    masterKey,
    masterKeyPrevious,
    adminUsername: need('ADMIN_USERNAME'),
    adminPassword: text('ADMIN_PASSWORD'),
    registration: oneOf('REGISTRATION', ['open', 'closed']),
    newUserQuota: integer('NEW_USER_QUOTA', 0, 1e15),
    quotaPerUnit: integer('QUOTA_PER_UNIT', 1, 1e12),
    lowQuota: integer('LOW_QUOTA', 0, 1e15),
    valkeyUrl: url('VALKEY_URL', ['redis:', 'rediss:', 'valkey:']),
    logLevel: oneOf('LOG_LEVEL', ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']),
    defaultLocale: oneOf('DEFAULT_LOCALE', LOCALES),
    trustProxy,
    apiUserHeader: header.toLowerCase(),
    metricsPort: metricsPort === undefined ? undefined : integer('METRICS_PORT', 0, 65535),
    metricsToken: text('METRICS_TOKEN'),
    sandbox,
    deviceCodeTtlSeconds: integer('DEVICE_CODE_TTL_SECONDS', 1, 86400),
    deviceCodesPerAddress: integer('DEVICE_CODES_PER_ADDRESS', 1, 1e9),
    deviceCodesPerClient: integer('DEVICE_CODES_PER_CLIENT', 1, 1e9),
    refreshReuseWindowSeconds: integer('REFRESH_REUSE_WINDOW_SECONDS', 10, 3600),
    ambiguousSubmitTtlSeconds: integer('AMBIGUOUS_SUBMIT_TTL_SECONDS', 1, 86400),
    syncPeriodSeconds: integer('SYNC_PERIOD_SECONDS', 1, 3600),
    taskTimeoutHours: integer('TASK_TIMEOUT_HOURS', 1, 720),
    chatFirstByteSeconds: integer('CHAT_FIRST_BYTE_SECONDS', 1, 3_600),
    chatIdleSeconds: integer('CHAT_IDLE_SECONDS', 1, 3_600),
    chatTotalSeconds: integer('CHAT_TOTAL_SECONDS', 1, 18_000),
    chatKeepAliveSeconds: integer('CHAT_KEEPALIVE_SECONDS', 1, 600),
    phoneDriver,
    phoneHttpUrl,
    messagingVerifyUrl: url('MESSAGING_VERIFY_URL', ['http:', 'https:']),
    mailBackend:
      mailBackend === undefined
        ? sandbox
          ? 'sandbox'
          : undefined
        : oneOf('MAIL_BACKEND', ['sandbox', 'dovecot', 'mailcow']),
    mailDomain,
    mailHost: need('MAIL_HOST'),
    webmailUrl: text('WEBMAIL_URL') ?? '',
    mailImapPort: integer('MAIL_IMAP_PORT', 1, 65535),
    mailSmtpPort: integer('MAIL_SMTP_PORT', 1, 65535),
    mailPop3Port: integer('MAIL_POP3_PORT', 1, 65535),
    mailAppPasswordProtocols: someOf('MAIL_APP_PASSWORD_PROTOCOLS', ['imap', 'smtp', 'pop3']),
    mailDovecotAuthSocket: text('MAIL_DOVECOT_AUTH_SOCKET'),
    mailDovecotAdminUrl: url('MAIL_DOVECOT_ADMIN_URL', ['http:', 'https:']),
    mailDovecotAdminKey: text('MAIL_DOVECOT_ADMIN_KEY'),
    mailMailcowUrl: url('MAIL_MAILCOW_URL', ['http:', 'https:']),
    mailMailcowKey: text('MAIL_MAILCOW_KEY'),
    mailMailcowQuotaMb: integer('MAIL_MAILCOW_QUOTA_MB', 1, 10_000_000),
  };
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);

/** Lines `NAME=value`; `#` starts a comment line; quotes around a value are taken off. */
function readEnvFile(path: string): Record<string, string> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return {};
  }
  const found: Record<string, string> = {};
  for (const line of text.split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([A-Z][A-Z0-9_]*)\s*=\s*(.*?)\s*$/.exec(line);
    if (match?.[1] !== undefined && match[2] !== undefined) found[match[1]] = match[2].replace(/^(["'])(.*)\1$/, '$2');
  }
  return found;
}
