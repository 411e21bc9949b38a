import { LOCALES } from '../../contract/messages/format-message.ts';
import { ACCENT_NAMES } from '../../design/accent-colors.ts';
import { createClientIpResolver, createIpCheck } from './client-ip.ts';
import { parsePostgresUrl } from './db/postgres.ts';
import {
  ConfigError,
  flag,
  integer,
  list,
  oneOf,
  optionalInteger,
  optionalOneOf,
  optionalPattern,
  optionalText,
  pattern,
  type Setting,
  type SettingDescription,
  text,
  url,
  urlWithKey,
} from './setting-readers.ts';
import { parseMasterKey } from './vault.ts';

/** @throws TypeError naming the entry that is neither an origin nor `*` */
function assertCorsOrigins(origins: readonly string[]): void {
  for (const origin of origins)
    if (origin !== '*' && (!URL.canParse(origin) || new URL(origin).origin !== origin))
      throw new TypeError(`"${origin}" is not an origin such as https://app.example`);
}

const DOMAIN_NAME = /^(?=.{1,190}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;

/** An image type that browsers display and that cannot contain scripts; up to 90 KB as Base64. */
const LOGO = /^data:image\/(png|webp|jpeg);base64,[A-Za-z0-9+/]{16,122880}={0,2}$/;

const masterKey = (about: SettingDescription): Setting<string | undefined> => ({
  ...about,
  read(value, name) {
    if (value !== undefined && parseMasterKey(value) === undefined)
      throw new ConfigError(name, 'must be 32 bytes in base64 (make one with: openssl rand -base64 32)');
    return value;
  },
});

function assertPostgresUrl(value: string, name: string): void {
  try {
    parsePostgresUrl(value);
  } catch (error) {
    throw new ConfigError(name, (error as Error).message);
  }
}

const databaseUrl = (about: SettingDescription & { readonly default: string }): Setting<string> => ({
  ...about,
  read(value = about.default, name) {
    if (!/^(sqlite:|postgres:\/\/|postgresql:\/\/)/.test(value))
      throw new ConfigError(name, 'must start with sqlite: or postgres://');
    if (!value.startsWith('sqlite:')) assertPostgresUrl(value, name);
    return value;
  },
});

const postgresUrl = (about: SettingDescription): Setting<string | undefined> => ({
  ...about,
  read(value, name) {
    if (value !== undefined) assertPostgresUrl(value, name);
    return value;
  },
});

function assertHostsWithPort(hosts: readonly string[]): void {
  for (const host of hosts)
    if (!/^(\[[0-9a-f:]+\]|[a-z0-9.-]+):\d{1,5}$/.test(host))
      throw new TypeError(`must be host:port pairs, not "${host}"`);
}

function assertMasterKeys(keys: readonly string[]): void {
  if (keys.some((key) => parseMasterKey(key) === undefined))
    throw new TypeError('must be keys of 32 bytes in base64, separated by commas');
}

/**
 * Environment settings that are fixed at start, in the order of the documentation: reader, type and documentation of
 * each. `Config`, docs/config.md and .env.example are derived from these tables. A number that no operator would tune
 * is a constant next to its use instead; the environment has at most 60 settings (test/docs.test.ts).
 */
export const START_SETTINGS = {
  HOST: text({ default: '127.0.0.1', description: 'Address to listen on.' }),
  PORT: integer(0, 65_535, { default: '3000', description: 'Port to listen on; 0 takes a free one.' }),
  BASE_URL: url(['http:', 'https:'], {
    description: 'The address people use, without a path; every link is made from it. Default: http://HOST:PORT.',
  }),
  ALLOW_HTTP: flag({ default: '0', description: '1 permits a plain http BASE_URL off this machine.' }),
  DATABASE_URL: databaseUrl({
    default: 'sqlite:./data/reelgate.db',
    description:
      'sqlite:PATH, or postgres://… at scale; several hosts as postgres://user:password@a:5432,b:5432/name, of which the one that takes writes is used.',
  }),
  DATABASE_DIRECT_URL: postgresUrl({
    secret: true,
    description:
      'Address of the PostgreSQL server itself where DATABASE_URL is that of PgBouncer in transaction mode: for migrations, locks and signals.',
  }),
  MASTER_KEY: masterKey({
    secret: true,
    description:
      '32 bytes in base64 that encrypt what must be shown again in clear. Made and kept beside a SQLite database when absent; required with PostgreSQL.',
  }),
  MASTER_KEY_PREVIOUS: list(assertMasterKeys, {
    secret: true,
    description:
      'Older or newer keys, separated by commas, that open too while MASTER_KEY is changed (docs/operations.md).',
  }),
  ADMIN_USERNAME: text({ default: 'root', description: 'Name of the first account; first start only.' }),
  ADMIN_PASSWORD: optionalText({
    secret: true,
    description: 'Its password; first start only. A random one is printed once when absent.',
  }),
  QUOTA_PER_UNIT: integer(1, 1e12, { default: '500000', description: 'Quota that equals 1 unit of display currency.' }),
  VALKEY_URL: url(['redis:', 'rediss:', 'valkey:'], {
    secret: true,
    description: 'redis://… of a Valkey or Redis for rate limits and revocation news over several replicas; optional.',
  }),
  INSTANCE_NAME: optionalText({
    description:
      'Name of this process in every line of the log, to tell replicas apart. Default: the host name and the process id.',
  }),
  LOG_LEVEL: oneOf(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'], {
    default: 'info',
    description: 'silent, fatal, error, warn, info, debug or trace.',
  }),
  DEFAULT_LOCALE: oneOf(LOCALES, { default: 'en', description: 'en or zh-CN, where Accept-Language does not decide.' }),
  TRUST_PROXY: list(createClientIpResolver, {
    description: 'Comma-separated addresses or CIDR ranges of proxies whose X-Forwarded-For is believed.',
  }),
  CORS_ORIGINS: list(assertCorsOrigins, {
    description:
      'Comma-separated origins of web pages that may call /v1 and /v1beta with a key of their own, or * for all; never with cookies.',
  }),
  KEY_REQUESTS_PER_MINUTE: integer(0, 1e9, {
    default: '12000',
    description:
      'Requests one key may make in a minute, counted by each process for itself before a body is read; 0: any number.',
  }),
  API_USER_HEADER: pattern(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'must be a header name', {
    default: 'Service-Api-User',
    description: 'Name of the header that carries the user id beside a management credential.',
  }),
  DRAIN_SECONDS: integer(0, 300, {
    default: '5',
    description:
      'How long the port stays open after SIGTERM, while /readyz answers 503 and load balancers send their requests elsewhere.',
  }),
  METRICS_PORT: optionalInteger(0, 65_535, { description: 'Serves /metrics on a port of its own on HOST.' }),
  METRICS_TOKEN: optionalText({
    secret: true,
    description:
      'Serves /metrics on the main port to callers with this bearer token; METRICS_PORT asks for it too then.',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: url(['http:', 'https:'], {
    description:
      'Collector that gets traces as OTLP over HTTP (at /v1/traces); empty: no traces. docs/metrics.md has the other standard OTEL_ variables.',
  }),
  SANDBOX: flag({
    default: '0',
    description: '1 starts simulated vendors on loopback with a channel for each. Never in production.',
  }),
  DEVICE_CODE_TTL_SECONDS: integer(1, 86_400, {
    default: '600',
    description: 'How long a device code waits for approval.',
  }),
  REFRESH_REUSE_WINDOW_SECONDS: integer(10, 3_600, {
    default: '60',
    description: 'A refresh token used again within this time fails without ending the sign-in.',
  }),
  AMBIGUOUS_SUBMIT_TTL_SECONDS: integer(1, 86_400, {
    default: '600',
    description: 'A submit whose answer was lost is refunded after this time.',
  }),
  SYNC_PERIOD_SECONDS: integer(1, 3_600, {
    default: '15',
    description: 'How often an unfinished task is polled at its vendor.',
  }),
  SUBMIT_VISIBILITY_SECONDS: integer(0, 3_600, {
    default: '120',
    description:
      'How long after its submit a video may be unknown to its vendor; later, three unreadable or unknowing answers in a row end it with a refund.',
  }),
  JOURNAL_DIR: optionalText({
    description:
      'Directory for the journal of model calls that are not settled yet. Default: beside a SQLite database, else under the directory for temporary files.',
  }),
  TASK_TIMEOUT_HOURS: integer(1, 720, {
    default: '24',
    description: 'A task without an end by then fails and is refunded.',
  }),
  ARTIFACTS: oneOf(['disk', 's3', 'off'], {
    default: 'disk',
    description:
      'Where finished videos are copied: disk, s3, or off (each is served by its vendor as long as that keeps it).',
  }),
  ARTIFACTS_DIR: optionalText({
    description:
      'Directory of the copies, the same for all processes. Default: artifacts beside the SQLite database, ./data/artifacts with PostgreSQL.',
  }),
  ARTIFACTS_MAX_GB: integer(1, 1e6, {
    default: '20',
    description: 'Space of all copies in GiB; beyond it the oldest make room for the newest.',
  }),
  ARTIFACTS_MIN_FREE_GB: integer(0, 1e6, {
    default: '2',
    description: 'GiB that copies leave free on their device.',
  }),
  ARTIFACTS_DAYS: integer(0, 36_500, {
    default: '30',
    description: 'How long a copy is kept, where the package of its account says nothing else; 0: for ever.',
  }),
  ARTIFACTS_ACCEL_PROXIES: list(createIpCheck, {
    description:
      'Comma-separated addresses or CIDR ranges of the nginx in front that sends stored videos by itself, by X-Accel-Redirect (docs/artifacts.md). With ARTIFACTS=disk.',
  }),
  ARTIFACTS_S3_ENDPOINT: url(['http:', 'https:'], {
    description:
      'Address of the S3 service, without the bucket. Default: that of AWS for the region. With ARTIFACTS=s3, as all of these.',
  }),
  ARTIFACTS_S3_REGION: text({ default: 'us-east-1', description: 'Region of the bucket.' }),
  ARTIFACTS_S3_BUCKET: optionalText({ description: 'Name of the bucket.' }),
  ARTIFACTS_S3_PREFIX: optionalText({ description: 'Put before the name of each object, such as reelgate/.' }),
  ARTIFACTS_S3_ACCESS_KEY: optionalText({ description: 'Access key that may read, write, delete and list there.' }),
  ARTIFACTS_S3_SECRET_KEY: optionalText({ secret: true, description: 'Its secret key.' }),
  WEBHOOK_PRIVATE_HOSTS: list(assertHostsWithPort, {
    description:
      'Comma-separated host:port pairs of your own network that may receive webhooks, by http too; every other address must be public. Every account may send a POST to any path of them, and is shown the status of the answer but not its text.',
  }),
  SMTP_URL: url(['smtp:', 'smtps:'], {
    secret: true,
    description:
      'smtp://USER:PASSWORD@HOST:587 or smtps://…:465, the server that takes the e-mails of the service: confirmation of addresses, reset of passwords. None: no e-mail is sent.',
  }),
  SMTP_FROM: optionalText({
    description: 'Sender of these e-mails, such as Reelgate <no-reply@example.com>. Required with SMTP_URL.',
  }),
  MAIL_BACKEND: optionalOneOf(['sandbox', 'dovecot', 'mailcow'], {
    description:
      'dovecot, mailcow or sandbox; none: mailboxes are switched off. With SANDBOX=1 the default is sandbox.',
  }),
  MAIL_DOMAIN: pattern(DOMAIN_NAME, 'must be a domain name in lower case', {
    default: 'mail.localhost',
    description: 'Domain of the mailbox addresses.',
  }),
  MAIL_HOST: text({ default: 'localhost', description: 'Host name mail clients connect to.' }),
  WEBMAIL_URL: optionalText({ description: 'Address of the webmail, shown to users.' }),
  MAIL_DOVECOT_AUTH_SOCKET: optionalText({
    description: 'Auth socket of Dovecot for the consistency check: a path, or host:port. Required with dovecot.',
  }),
  MAIL_API_URL: urlWithKey({
    description:
      'API of the mail server, with its key as the password: https://:KEY@mail.example.org. mailcow: required, a read-write key. dovecot: the doveadm HTTP API, which ends open mail sessions.',
  }),
} as const satisfies Record<string, Setting>;

/** Environment settings that root may also store in the console, unless the environment sets them. */
export const SHARED_SETTINGS = {
  REGISTRATION: oneOf(['open', 'closed'], {
    default: 'open',
    description: 'open or closed: whether people may make their own accounts.',
  }),
  NEW_USER_QUOTA: integer(0, 1e15, { default: '0', description: 'Quota a new account starts with.' }),
  RETENTION_TASK_DETAIL_DAYS: integer(0, 36_500, {
    default: '30',
    description:
      'Days after its end at which the request and the last response of a video, and its failed attempts, are emptied; 0: never.',
  }),
  RETENTION_REQUESTS_DAYS: integer(0, 36_500, {
    default: '30',
    description:
      'Days after which a call or video leaves the request log; its receipt then shows only what the ledger has. 0: never.',
  }),
  RETENTION_NOTIFICATIONS_DAYS: integer(0, 36_500, {
    default: '180',
    description: 'Days after which a notification is deleted; 0: never.',
  }),
  RETENTION_AUDIT_DAYS: integer(0, 36_500, {
    default: '365',
    description: 'Days after which an entry of the audit log is deleted; 0: never.',
  }),
  RETENTION_LEDGER_DAYS: integer(0, 36_500, {
    default: '0',
    description:
      'Days after which ledger entries are combined, by whole months, into one closing entry per account and month; 0: never.',
  }),
  MESSAGING_VERIFY_URL: url(['http:', 'https:'], {
    description: 'Address asked with ?code=… to confirm a messaging-app binding.',
  }),
} as const satisfies Record<string, Setting>;

/** Settings that root stores in the console, and that the environment does not have. */
const CONSOLE_SETTINGS = {
  SITE_NAME: pattern(/^[^\s<>](?:[^<>]{0,38}[^\s<>])?$/u, 'must have 1 to 40 characters, without < and >', {
    default: 'Reelgate',
    description: 'Name of the service on its pages.',
  }),
  SITE_ACCENT: oneOf(ACCENT_NAMES, {
    default: 'ember',
    description: `Colour of its pages: ${ACCENT_NAMES.join(', ')}.`,
  }),
  SITE_LOGO: optionalPattern(LOGO, 'must be a PNG, WebP or JPEG picture of at most 90 KB as a data URL', {
    description: 'Logo of its pages: a PNG, WebP or JPEG picture as a data URL, at most 90 KB.',
  }),
  SIGN_IN_NOTICE: optionalPattern(/^[\s\S]{1,500}$/u, 'must have at most 500 characters', {
    description: 'Text above the form for signing in: maintenance, rules, whom to ask.',
  }),
  NEW_USER_PLAN: optionalPattern(/^[a-z0-9_-]{1,40}$/, 'must be the code of a plan', {
    description:
      'Code of the plan that people get who make their own account; without it, or where it is not enabled: none.',
  }),
  CURRENCY: optionalPattern(/^[A-Z]{3}$/, 'must be a code of ISO 4217, such as CNY', {
    description:
      'Currency of one credit on the pages, in notices and in the command line, by its code of ISO 4217; without it they say credits.',
  }),
  LOW_QUOTA: integer(0, 1e15, {
    default: '500000',
    description: 'An account is told when its wallet falls below so much quota; 0: never.',
  }),
  RETENTION_LOGINS_DAYS: integer(0, 36_500, {
    default: '90',
    description: 'Days after which a login, or an attempt at one, leaves the sign-in history; 0: never.',
  }),
  RETENTION_EVENTS_DAYS: integer(0, 36_500, {
    default: '30',
    description: 'How long events and deliveries of webhooks are kept, to be shown and replayed; 0: for ever.',
  }),
  PHONE_HTTP_URL: url(['http:', 'https:'], {
    description: 'Address that gets POST {phone, code}; without one, codes are written to the log (development).',
  }),
} as const satisfies Record<string, Setting>;

/** Standard variables of OpenTelemetry, documented in docs/metrics.md. */
export const OTEL_VARIABLES = {
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url(['http:', 'https:'], {
    description: 'The same for traces alone, with its whole path; it wins over the other.',
  }),
  OTEL_SDK_DISABLED: flag({ default: '0', description: '1 turns traces off, whatever else is set.' }),
  OTEL_EXPORTER_OTLP_HEADERS: optionalText({
    secret: true,
    description: 'Headers for the collector: name=value, separated by commas, values percent-encoded.',
  }),
  OTEL_SERVICE_NAME: text({ default: 'reelgate', description: 'Name of the service in traces.' }),
  OTEL_RESOURCE_ATTRIBUTES: optionalText({
    description: 'More attributes of this process in traces: name=value, separated by commas.',
  }),
  OTEL_TRACES_SAMPLER: oneOf(
    [
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ],
    { default: 'parentbased_always_on', description: 'Which traces are recorded.' },
  ),
  OTEL_TRACES_SAMPLER_ARG: optionalText({
    description: 'Share of the traces, 0 to 1, for the samplers with a ratio; default 1.',
  }),
} as const satisfies Record<string, Setting>;

/** All environment settings. */
export const SETTINGS = { ...START_SETTINGS, ...SHARED_SETTINGS } as const;

/** Settings that change while the service runs. */
export const SITE_SETTINGS = { ...SHARED_SETTINGS, ...CONSOLE_SETTINGS } as const;

/** All settings that are read once at start. */
export const FIXED_SETTINGS = { ...START_SETTINGS, ...OTEL_VARIABLES } as const;

/** A table of settings by name. */
export type SettingTable = Readonly<Record<string, Setting>>;
/** Name of a setting that root may change at run time. */
export type SiteSettingName = keyof typeof SITE_SETTINGS;
