import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { AlreadyServedError, DatabaseUnavailableError, SchemaMismatchError } from './db/database.ts';
import { DatabaseFileError, describePathError, warnOfSharedDisk } from './path-checks.ts';
import { FIXED_SETTINGS, SETTINGS, type SettingTable, SITE_SETTINGS } from './setting-definitions.ts';
import { ConfigError } from './setting-readers.ts';

/** `BASE_URL` → `baseUrl`. */
type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${Lowercase<First>}${Capitalize<CamelCase<Rest>>}`
  : Lowercase<Name>;

/** The settings of a table as their readers return them, with camel-case names. */
type ValuesOf<Table extends SettingTable> = {
  readonly [Name in keyof Table & string as CamelCase<Name>]: ReturnType<Table[Name]['read']>;
};

/** The settings that are read once at start: checked, typed, and constant until the process ends. */
export interface Config extends Omit<ValuesOf<typeof FIXED_SETTINGS>, 'baseUrl' | 'webmailUrl' | 'instanceName'> {
  readonly baseUrl: string;
  readonly instanceName: string;
  /** Empty if there is none. */
  readonly webmailUrl: string;
  /** Names of the settings that are set in the environment. */
  readonly environmentNames: ReadonlySet<string>;
  /** Site settings before any are stored. Their effective values are in `Live<SiteSettings>`. */
  readonly siteDefaults: SiteSettings;
}

/** The settings that root changes while the service runs. */
export type SiteSettings = ValuesOf<typeof SITE_SETTINGS>;

/** A value that changes while the service runs. Call `current()` at each use, and do not keep a copy. */
export interface Live<T> {
  current(): T;
}

/**
 * Settings of similar products that an administrator may have left in place; each causes one hint at start, none is
 * used.
 */
const OTHER_PRODUCTS_SETTINGS: Readonly<Record<string, string>> = {
  SQL_DSN: 'DATABASE_URL',
  SESSION_SECRET: 'MASTER_KEY',
  REDIS_CONN_STRING: 'VALKEY_URL',
};

const IN_CONSOLE = 'set it in the console under Administration › Settings';
const MAIL_API = 'use MAIL_API_URL, with the key as its password: https://:KEY@HOST';
const STANDARD_PORTS = 'clients are given the standard ports 993, 465 and 995';
const FIXED_LIMIT = 'the limit is fixed';
const FIXED_TIME = 'the time limit is fixed';

/** Settings of earlier releases, with their replacements. Each causes one warning at start, none is used. */
const REMOVED_SETTINGS: Readonly<Record<string, string>> = {
  SITE_NAME: IN_CONSOLE,
  SITE_ACCENT: IN_CONSOLE,
  SITE_LOGO: IN_CONSOLE,
  SIGN_IN_NOTICE: IN_CONSOLE,
  NEW_USER_PLAN: IN_CONSOLE,
  CURRENCY: IN_CONSOLE,
  LOW_QUOTA: IN_CONSOLE,
  RETENTION_LOGINS_DAYS: IN_CONSOLE,
  RETENTION_EVENTS_DAYS: IN_CONSOLE,
  PHONE_HTTP_URL: IN_CONSOLE,
  PHONE_DRIVER: 'codes are sent to PHONE_HTTP_URL where the console has one, else written to the log',
  MAIL_DOVECOT_ADMIN_URL: MAIL_API,
  MAIL_DOVECOT_ADMIN_KEY: MAIL_API,
  MAIL_MAILCOW_URL: MAIL_API,
  MAIL_MAILCOW_KEY: MAIL_API,
  MAIL_MAILCOW_QUOTA_MB: 'new mailboxes have 1,024 MiB; change the size of one in mailcow',
  MAIL_IMAP_PORT: STANDARD_PORTS,
  MAIL_SMTP_PORT: STANDARD_PORTS,
  MAIL_POP3_PORT: STANDARD_PORTS,
  MAIL_APP_PASSWORD_PROTOCOLS: 'application passwords work for IMAP, SMTP and POP3',
  DATABASE_POOL: 'a process opens up to 10 connections; put PgBouncer in front for more processes',
  CONNECTIONS_PER_ADDRESS: FIXED_LIMIT,
  DEVICE_CODES_PER_ADDRESS: IN_CONSOLE,
  DEVICE_LIVE_CODES_PER_ADDRESS: 'set DEVICE_CODES_PER_ADDRESS in the console under Administration › Settings',
  DEVICE_CODES_PER_CLIENT: FIXED_LIMIT,
  CHAT_FIRST_BYTE_SECONDS: FIXED_TIME,
  CHAT_IDLE_SECONDS: FIXED_TIME,
  CHAT_TOTAL_SECONDS: FIXED_TIME,
  CHAT_KEEPALIVE_SECONDS: FIXED_TIME,
  ARTIFACTS_ACCOUNT_GB: 'an account has a quarter of ARTIFACTS_MAX_GB, or what its plan says',
  FFMPEG: 'ffmpeg is looked up in PATH',
};

interface LoadedConfig {
  readonly config: Config;
  /** Messages for the person who starts the service. */
  readonly hints: readonly string[];
}

/**
 * Reads `.env` if present, and the environment, which takes precedence.
 * @throws ConfigError on the first invalid value
 */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env, envFile = '.env'): LoadedConfig {
  const env = { ...readEnvFile(envFile), ...environment };
  const config = parseConfig(env);
  const isGiven = ([name]: readonly [string, string]): boolean => (env[name]?.trim() ?? '') !== '';
  const foreign = Object.entries(OTHER_PRODUCTS_SETTINGS)
    .filter(isGiven)
    .map(([name, ours]) => `${name} is another product's setting and is not read here; the one you want is ${ours}.`);
  const removed = Object.entries(REMOVED_SETTINGS)
    .filter(isGiven)
    .map(([name, instead]) => `${name} is no longer a setting of the environment and is not read: ${instead}.`);
  return { config, hints: [...foreign, ...removed, ...warningsOfPlace(config)] };
}

function warningsOfPlace({ databaseUrl }: Config): string[] {
  if (!databaseUrl.startsWith('sqlite:')) return [];
  try {
    return [warnOfSharedDisk(databaseUrl.slice('sqlite:'.length))].filter((warning) => warning !== undefined);
  } catch {
    // An unusable path is reported when the database is opened.
    return [];
  }
}

/**
 * Parses raw texts to checked settings. Pure.
 * @throws ConfigError on the first invalid setting
 */
export function parseConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const env = withoutQuotes(environment);
  const values = readSettings(FIXED_SETTINGS, env);
  const config: Config = {
    ...values,
    baseUrl: values.baseUrl ?? `http://${values.host.includes(':') ? `[${values.host}]` : values.host}:${values.port}`,
    apiUserHeader: values.apiUserHeader.toLowerCase(),
    mailBackend: values.mailBackend ?? (values.sandbox ? 'sandbox' : undefined),
    webmailUrl: values.webmailUrl ?? '',
    environmentNames: new Set(Object.keys(SETTINGS).filter((name) => (env[name]?.trim() ?? '') !== '')),
    instanceName: values.instanceName ?? `${hostname()}-${process.pid}`,
    siteDefaults: readSettings(SITE_SETTINGS, onlySettingsOf(env)),
  };
  assertConsistent(config);
  return config;
}

function readSettings<Table extends SettingTable>(
  table: Table,
  env: Readonly<Record<string, string | undefined>>,
): ValuesOf<Table> {
  const entries = Object.entries(table).map(([name, setting]) => {
    const given = env[name]?.trim();
    const text = given === undefined || given === '' ? setting.default : given;
    return [toCamelCase(name), setting.read(text, name)];
  });
  // The keys and values match the table by construction, which `fromEntries` cannot express.
  return Object.fromEntries(entries) as ValuesOf<Table>;
}

/** Quotes around a whole value, which `docker run --env-file` and lists in compose files pass on, unlike shells. */
const withoutQuotes = (env: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, value?.trim().replace(/^(["'])(.*)\1$/s, '$2')]),
  );

/** Omits the names of settings that exist only in the console. */
const onlySettingsOf = (env: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, env[name]]));

/** `BASE_URL` → `baseUrl`, the name in `Config`. */
export const toCamelCase = (name: string): string =>
  name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

/** Checks that involve several settings. */
function assertConsistent(config: Config): void {
  const { protocol, hostname, pathname } = new URL(config.baseUrl);
  if (pathname !== '/') throw new ConfigError('BASE_URL', 'must not have a path');
  if (protocol === 'http:' && !isLoopback(hostname) && !config.allowHttp)
    throw new ConfigError(
      'BASE_URL',
      'must start with https:// off this machine (or set ALLOW_HTTP=1, knowing that passwords travel in clear)',
    );
  if (config.masterKey === undefined && !config.databaseUrl.startsWith('sqlite:'))
    throw new ConfigError('MASTER_KEY', 'is required with PostgreSQL, since every replica must use the same key');
  if (config.databaseDirectUrl !== undefined && config.databaseUrl.startsWith('sqlite:'))
    throw new ConfigError('DATABASE_DIRECT_URL', 'is for a DATABASE_URL of PostgreSQL behind a pooler');
  if (
    config.artifacts === 's3' &&
    !(config.artifactsS3Bucket && config.artifactsS3AccessKey && config.artifactsS3SecretKey)
  )
    throw new ConfigError(
      'ARTIFACTS_S3_BUCKET',
      'ARTIFACTS_S3_ACCESS_KEY and ARTIFACTS_S3_SECRET_KEY are required with ARTIFACTS=s3',
    );
  if (config.artifactsAccelProxies.length > 0 && config.artifacts !== 'disk')
    throw new ConfigError('ARTIFACTS_ACCEL_PROXIES', 'is for ARTIFACTS=disk, where nginx can read the files');
  if (config.smtpUrl !== undefined && !/[^@\s<>]@[^@\s<>]/.test(config.smtpFrom ?? ''))
    throw new ConfigError('SMTP_FROM', 'must be an e-mail address, as it is required with SMTP_URL');
}
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);

/** Parses lines `NAME=value`. `#` starts a comment line. */
function readEnvFile(path: string): Record<string, string> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new ConfigError(path, describePathError(error, 'the file') ?? (error as Error).message);
  }
  // What `>` writes in Windows PowerShell. Read as nothing, it would start a new, empty service.
  if (text.includes('\0')) throw new ConfigError(path, 'is not UTF-8; save it as UTF-8');
  const found: Record<string, string> = {};
  for (const line of text.split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([A-Z][A-Z0-9_]*)\s*=\s*(.*?)\s*$/.exec(line);
    if (match?.[1] !== undefined && match[2] !== undefined) found[match[1]] = match[2];
  }
  return found;
}

/** Errors whose message is enough for an operator to fix the problem. */
const PLAIN = [ConfigError, DatabaseUnavailableError, AlreadyServedError, SchemaMismatchError, DatabaseFileError];
const PORT_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process uses this port; stop it, or set PORT',
  EADDRNOTAVAIL: 'this machine has no such address; set HOST',
  EAFNOSUPPORT: 'this machine has no IPv6; set HOST=0.0.0.0',
  EACCES: 'this user may not open this port; set PORT to one above 1023',
};

/** The message for a failed start: one line for a known cause, otherwise the stack. */
export function describeStartFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (PLAIN.some((kind) => error instanceof kind)) return error.message;
  const { code, syscall, address, port }: NodeJS.ErrnoException & { address?: string; port?: number } = error;
  const advice = syscall === 'listen' ? PORT_ERRORS[code ?? ''] : undefined;
  if (advice !== undefined) return `${address}:${port}: ${advice}`;
  if (syscall === 'getaddrinfo') return `HOST: this machine has no such address (${code})`;
  if (code === 'ERR_SQLITE_ERROR') return `DATABASE_URL: SQLite cannot use this file: ${error.message}`;
  return describePathError(error) ?? error.stack ?? error.message;
}
