import { Check, Errors } from 'typebox/value';
import { GITHUB_ISSUER, IdentityProvider } from '../../contract/identity-providers.ts';
import { LOCALES } from '../../contract/messages/format-message.ts';
import { ACCENT_NAMES } from '../../design/accent-colors.ts';
import { createClientIpResolver, createIpCheck } from './client-ip.ts';
import { isTimeZone } from './clock.ts';
import { parsePostgresUrl } from './db/postgres.ts';
import { tryParse } from './json.ts';
import {
  ConfigError,
  flag,
  integer,
  list,
  oneOf,
  optionalInteger,
  optionalOneOf,
  optionalPairs,
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

const MAX_PROVIDERS = 20;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const MICROSOFT_HOST = 'login.microsoftonline.com';
const MICROSOFT_TENANT = /^\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\/v2\.0\/?$/i;

/**
 * One provider as it is entered in the console, with the stored secret if it lacks one.
 *
 * @throws ConfigError
 */
export function readIdentityProvider(draft: object, stored: readonly IdentityProvider[]): IdentityProvider {
  const provider = restoreSecret(draft, stored);
  const why = problemOf(provider);
  if (why !== undefined) throw new ConfigError('OIDC_PROVIDERS', why);
  return provider as IdentityProvider;
}

/** Identity providers as JSON, each with its client secret. */
const identityProviders = (about: SettingDescription): Setting<readonly IdentityProvider[]> => ({
  ...about,
  secret: true,
  read(text, name) {
    const problem = (why: string): ConfigError => new ConfigError(name, why);
    if (text === undefined) return [];
    const given = tryParse(text);
    if (!Array.isArray(given)) throw problem('must be a JSON list of identity providers');
    if (given.length > MAX_PROVIDERS) throw problem(`may name ${MAX_PROVIDERS} identity providers`);
    const providers = given.map((each, index) => {
      const why = problemOf(each);
      if (why !== undefined) throw problem(`[${index}].${why}`);
      return each as IdentityProvider;
    });
    if (new Set(providers.map(({ id }) => id)).size < providers.length) throw problem('has two providers with one id');
    return providers;
  },
  redaction: {
    show: (providers) => (providers.length === 0 ? '' : JSON.stringify(providers.map(withoutSecret))),
    restore: restoreSecrets,
  },
});

const withoutSecret = ({ client_secret: _, ...rest }: IdentityProvider) => rest;

/**
 * Adds the stored secret to a provider that lacks one, if issuer and client are the same: a secret is never sent to
 * another host than the one it was entered for.
 */
function restoreSecrets(text: string, stored: readonly IdentityProvider[]): string {
  const given = tryParse(text);
  if (!Array.isArray(given)) return text;
  return JSON.stringify(given.map((each) => restoreSecret(each, stored)));
}

function restoreSecret(each: unknown, stored: readonly IdentityProvider[]): unknown {
  if (typeof each !== 'object' || each === null) return each;
  const { issuer, client_id, client_secret } = each as Partial<IdentityProvider>;
  if (client_secret !== undefined && client_secret !== '') return each;
  const known = stored.find((one) => one.issuer === issuer && one.client_id === client_id);
  return known === undefined ? each : { ...each, client_secret: known.client_secret };
}

/** The field that is wrong, and why; undefined if all are right. */
function problemOf(provider: unknown): string | undefined {
  if (!Check(IdentityProvider, provider)) {
    const [error] = Errors(IdentityProvider, provider);
    return `${error?.instancePath.slice(1).replaceAll('/', '.') ?? ''} ${error?.message ?? 'is wrong'}`;
  }
  const { issuer } = provider;
  const url = URL.parse(issuer);
  if (url === null || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '')
    return 'issuer must be a URL without query, fragment and credentials';
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.test(url.hostname)))
    return 'issuer must start with https://; http:// is for this machine alone';
  if (url.hostname === MICROSOFT_HOST && !MICROSOFT_TENANT.test(url.pathname))
    return `issuer must be https://${MICROSOFT_HOST}/TENANT-ID/v2.0; common and organizations admit every tenant`;
  if (url.hostname === new URL(GITHUB_ISSUER).hostname && issuer !== GITHUB_ISSUER)
    return `issuer must be ${GITHUB_ISSUER} for GitHub`;
  return undefined;
}

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

const timeZone = (about: SettingDescription & { readonly default: string }): Setting<string> => ({
  ...about,
  read(value = about.default, name) {
    if (!isTimeZone(value))
      throw new ConfigError(name, `must be an IANA time zone such as Asia/Shanghai, not "${value}"`);
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
    if (!/^(\[[0-9a-f:]+\]|[a-z0-9._-]+):\d{1,5}$/.test(host))
      throw new TypeError(`must be host:port pairs, not "${host}"`);
}

function assertMasterKeys(keys: readonly string[]): void {
  if (keys.some((key) => parseMasterKey(key) === undefined))
    throw new TypeError('must be keys of 32 bytes in base64, separated by commas');
}

/**
 * Environment settings that are fixed at start, in the order of the documentation: reader, type and documentation of
 * each. `Config`, docs/config.md and .env.example are derived from these tables. A number that no operator would tune
 * is a constant next to its use instead; test/docs.test.ts limits their number.
 */
export const START_SETTINGS = {
  HOST: text({ default: '127.0.0.1', description: 'Address to listen on.' }),
  PORT: integer(0, 65_535, { default: '3000', description: 'Port to listen on; 0 takes a free one.' }),
  BASE_URL: url(['http:', 'https:'], {
    description: 'Public URL without a path; all links start with it. Default: http://HOST:PORT.',
  }),
  ALLOW_HTTP: flag({ default: '0', description: '1 permits a plain http BASE_URL off this machine.' }),
  DATABASE_URL: databaseUrl({
    default: 'sqlite:./data/reelgate.db',
    description:
      'sqlite:PATH or postgres://…; of several hosts (postgres://user:password@a:5432,b:5432/name) the one that accepts writes is used.',
  }),
  DATABASE_DIRECT_URL: postgresUrl({
    secret: true,
    description:
      'URL of the PostgreSQL server itself if DATABASE_URL is a PgBouncer in transaction mode; used for migrations, locks and LISTEN.',
  }),
  MASTER_KEY: masterKey({
    secret: true,
    description:
      '32 bytes in Base64 that encrypt recoverable secrets. Without it a key is created beside the SQLite database; required with PostgreSQL.',
  }),
  MASTER_KEY_PREVIOUS: list(assertMasterKeys, {
    secret: true,
    description: 'Comma-separated keys that can also decrypt while MASTER_KEY is being changed (docs/operations.md).',
  }),
  ADMIN_USERNAME: text({ default: 'root', description: 'Name of the first account; first start only.' }),
  ADMIN_PASSWORD: optionalText({
    secret: true,
    description: 'Its password; first start only. If absent, a random one is printed once.',
  }),
  QUOTA_PER_UNIT: integer(1, 1e12, { default: '500000', description: 'Quota that equals 1 unit of display currency.' }),
  VALKEY_URL: url(['redis:', 'rediss:', 'valkey:'], {
    secret: true,
    description: 'redis://… of a Valkey or Redis that shares rate limits and revocations between processes; optional.',
  }),
  INSTANCE_NAME: optionalText({
    description: 'Name of this process in every log line. Default: host name and process id.',
  }),
  LOG_LEVEL: oneOf(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'], {
    default: 'info',
    description: 'silent, fatal, error, warn, info, debug or trace.',
  }),
  DEFAULT_LOCALE: oneOf(LOCALES, {
    default: 'en',
    description: 'en or zh-CN: the language if Accept-Language names neither.',
  }),
  TRUST_PROXY: list(createClientIpResolver, {
    description: 'Comma-separated addresses or CIDR ranges of proxies whose X-Forwarded-For is trusted.',
  }),
  CORS_ORIGINS: list(assertCorsOrigins, {
    description:
      'Comma-separated origins of web pages that may call /v1, /v1beta and /mcp with an API key, or * for all; never with cookies.',
  }),
  KEY_REQUESTS_PER_MINUTE: integer(0, 1e9, {
    default: '12000',
    description: 'Requests per key and minute, counted per process before the body is read; 0: unlimited.',
  }),
  API_USER_HEADER: pattern(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'must be a header name', {
    default: 'Service-Api-User',
    description: 'Name of the header that carries the user id with a management credential.',
  }),
  DRAIN_SECONDS: integer(0, 300, {
    default: '5',
    description: 'How long the port stays open after SIGTERM while /readyz answers 503 and load balancers drain it.',
  }),
  METRICS_PORT: optionalInteger(0, 65_535, { description: 'Serves /metrics on a separate port of HOST.' }),
  METRICS_TOKEN: optionalText({
    secret: true,
    description: 'Serves /metrics on the main port with this bearer token; METRICS_PORT then requires it too.',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: url(['http:', 'https:'], {
    description:
      'Collector that receives traces as OTLP over HTTP (at /v1/traces); empty: no traces. Other OTEL_ variables: docs/metrics.md.',
  }),
  SANDBOX: flag({
    default: '0',
    description: '1 starts simulated vendors on loopback with a channel for each. Never in production.',
  }),
  DEVICE_CODE_TTL_SECONDS: integer(1, 86_400, {
    default: '600',
    description: 'Lifetime of a device code that waits for approval.',
  }),
  REFRESH_REUSE_WINDOW_SECONDS: integer(10, 3_600, {
    default: '60',
    description: 'A refresh token used again within this time fails without ending the sign-in.',
  }),
  AMBIGUOUS_SUBMIT_TTL_SECONDS: integer(1, 86_400, {
    default: '600',
    description: 'A submit whose response was lost is refunded after this time.',
  }),
  SYNC_PERIOD_SECONDS: integer(1, 3_600, {
    default: '15',
    description: 'Interval at which an unfinished task is polled.',
  }),
  SUBMIT_VISIBILITY_SECONDS: integer(0, 3_600, {
    default: '120',
    description:
      'How long a vendor may not know a submitted video; later, three consecutive unreadable or not-found responses fail and refund it.',
  }),
  JOURNAL_DIR: optionalText({
    description:
      'Directory of the journal of unsettled model calls. Default: beside the SQLite database, otherwise under the temporary directory.',
  }),
  TASK_TIMEOUT_HOURS: integer(1, 720, {
    default: '24',
    description: 'An unfinished task fails and is refunded after this time.',
  }),
  ARTIFACTS: oneOf(['disk', 's3', 'off'], {
    default: 'disk',
    description:
      'Where finished videos are copied: disk, s3, or off (served from the vendor as long as it keeps them).',
  }),
  ARTIFACTS_DIR: optionalText({
    description:
      'Directory of the copies, shared by all processes. Default: artifacts beside the SQLite database, ./data/artifacts with PostgreSQL.',
  }),
  ARTIFACTS_MAX_GB: integer(1, 1e6, {
    default: '20',
    description: 'Space for all copies in GiB; beyond it the oldest are evicted.',
  }),
  ARTIFACTS_MIN_FREE_GB: integer(0, 1e6, {
    default: '2',
    description: 'GiB to leave free on the device.',
  }),
  ARTIFACTS_DAYS: integer(0, 36_500, {
    default: '30',
    description: 'Days a copy is kept unless the plan of its account says otherwise; 0: unlimited.',
  }),
  ARTIFACTS_ACCEL_PROXIES: list(createIpCheck, {
    description:
      'Comma-separated addresses or CIDR ranges of an nginx that sends stored videos through X-Accel-Redirect (docs/artifacts.md). With ARTIFACTS=disk.',
  }),
  ARTIFACTS_S3_ENDPOINT: url(['http:', 'https:'], {
    description:
      'URL of the S3 service without the bucket. Default: AWS for the region. All of these with ARTIFACTS=s3.',
  }),
  ARTIFACTS_S3_REGION: text({ default: 'us-east-1', description: 'Region of the bucket.' }),
  ARTIFACTS_S3_BUCKET: optionalText({ description: 'Name of the bucket.' }),
  ARTIFACTS_S3_PREFIX: optionalText({ description: 'Prefix of object names, such as reelgate/.' }),
  ARTIFACTS_S3_ACCESS_KEY: optionalText({ description: 'Access key that may read, write, delete and list.' }),
  ARTIFACTS_S3_SECRET_KEY: optionalText({ secret: true, description: 'Its secret key.' }),
  WEBHOOK_PRIVATE_HOSTS: list(assertHostsWithPort, {
    description:
      'Comma-separated host:port pairs of your own network that may receive webhooks, also over http. Every account can POST to their paths and sees the response status.',
  }),
  SMTP_URL: url(['smtp:', 'smtps:'], {
    secret: true,
    description: 'smtp://USER:PASSWORD@HOST:587 or smtps://…:465: server for outgoing e-mail; empty: none is sent.',
  }),
  SMTP_FROM: optionalText({
    description: 'Sender of e-mails, such as Reelgate <no-reply@example.com>. Required with SMTP_URL.',
  }),
  MAIL_BACKEND: optionalOneOf(['sandbox', 'dovecot', 'mailcow'], {
    description: 'dovecot, mailcow or sandbox; empty: no mailboxes. With SANDBOX=1 the default is sandbox.',
  }),
  MAIL_DOMAIN: pattern(DOMAIN_NAME, 'must be a domain name in lower case', {
    default: 'mail.localhost',
    description: 'Domain of the mailbox addresses.',
  }),
  MAIL_HOST: text({ default: 'localhost', description: 'Host name mail clients connect to.' }),
  WEBMAIL_URL: optionalText({ description: 'Address of the webmail, shown to users.' }),
  MAIL_DOVECOT_AUTH_SOCKET: optionalText({
    description: 'Auth socket of Dovecot for the consistency check: a path or host:port. Required with dovecot.',
  }),
  MAIL_API_URL: urlWithKey({
    description:
      'API URL of the mail server with its key as password: https://:KEY@mail.example.org. mailcow: required, a read-write key. dovecot: the doveadm HTTP API, which ends open mail sessions.',
  }),
} as const satisfies Record<string, Setting>;

/** Environment settings that root may also store in the console, unless the environment sets them. */
export const SHARED_SETTINGS = {
  REGISTRATION: oneOf(['open', 'closed'], {
    default: 'open',
    description: 'open or closed: whether people may register.',
  }),
  REQUIRE_SECOND_FACTOR: oneOf(['off', 'admins', 'all'], {
    default: 'off',
    description:
      'Who must have two-step verification or a passkey: admins, all or off. Without one, an account can only set one up.',
  }),
  TIME_ZONE: timeZone({
    default: 'UTC',
    description: 'Time zone of the site (IANA name such as Asia/Shanghai), in which spend limits renew.',
  }),
  OIDC_PROVIDERS: identityProviders({
    description: 'JSON list of identity providers that sign people in (docs/sign-in.md); empty: none.',
  }),
  PASSWORD_SIGN_IN: flag({
    default: '1',
    description: '0 switches passwords off for everyone but root: signing in, registration, device login.',
  }),
  NEW_USER_QUOTA: integer(0, 1e15, { default: '0', description: 'Quota a new account starts with.' }),
  RETENTION_TASK_DETAIL_DAYS: integer(0, 36_500, {
    default: '30',
    description: 'Days until request, last response and failed attempts of an ended video are cleared; 0: never.',
  }),
  RETENTION_REQUESTS_DAYS: integer(0, 36_500, {
    default: '30',
    description:
      'Days until a call or video leaves the request log, after which its receipt shows only ledger data; 0: never.',
  }),
  RETENTION_NOTIFICATIONS_DAYS: integer(0, 36_500, {
    default: '180',
    description: 'Days until a notification is deleted; 0: never.',
  }),
  RETENTION_AUDIT_DAYS: integer(0, 36_500, {
    default: '365',
    description: 'Days until an audit log entry is deleted; 0: never.',
  }),
  RETENTION_LEDGER_DAYS: integer(0, 36_500, {
    default: '0',
    description: 'Days until ledger entries of a month are combined into one closing entry per account; 0: never.',
  }),
  MESSAGING_VERIFY_URL: url(['http:', 'https:'], {
    description: 'URL called with ?code=… to confirm a messaging-app binding.',
  }),
  OAUTH_CLIENT_METADATA: flag({
    default: '0',
    description: '1 accepts OAuth clients that describe themselves at an https URL, their client_id (docs/oauth.md).',
  }),
  CLAUDE_CODE_SIGN_IN: flag({
    default: '0',
    description: '1 lets people sign in to Claude Code with BASE_URL/claude-code as its gateway (docs/claude-code.md).',
  }),
} as const satisfies Record<string, Setting>;

/** Settings that root stores in the console, and that the environment does not have. */
export const CONSOLE_SETTINGS = {
  SITE_NAME: pattern(/^[^\s<>](?:[^<>]{0,38}[^\s<>])?$/u, 'must have 1 to 40 characters, without < and >', {
    default: 'Reelgate',
    description: 'Name of the service on the pages.',
  }),
  SITE_ACCENT: oneOf(ACCENT_NAMES, {
    default: 'ember',
    description: `Colour of the pages: ${ACCENT_NAMES.join(', ')}.`,
  }),
  SITE_LOGO: optionalPattern(LOGO, 'must be a PNG, WebP or JPEG image of at most 90 KB as a data URL', {
    description: 'Logo of the pages: a PNG, WebP or JPEG image as a data URL, at most 90 KB.',
  }),
  SIGN_IN_NOTICE: optionalPattern(/^[\s\S]{1,500}$/u, 'must have at most 500 characters', {
    description: 'Text above the sign-in form: maintenance, rules, contact.',
  }),
  STATUS_PAGE: flag({
    default: '0',
    description: '1 publishes `/status`: whether sign-in, video and chat work, and the outages of the last 30 days.',
  }),
  BETA_FEATURES: optionalPattern(
    /^(?:[^\S\n]*[^\s:：][^\n:：]{0,99}(?:[:：][^\n]{0,300})?(?:\n+|$)){1,20}$/u,
    'must be up to 20 lines "Name: description", with up to 100 and 300 characters',
    { description: 'Features that accounts can apply for under Beta access: one per line, `Name: description`.' },
  ),
  NEW_USER_PLAN: optionalPattern(/^[a-z0-9_-]{1,40}$/, 'must be the code of a plan', {
    description: 'Code of the plan for people who register; empty, or not enabled: none.',
  }),
  CURRENCY: optionalPattern(/^[A-Z]{3}$/, 'must be a code of ISO 4217, such as CNY', {
    description: 'Currency of one credit (ISO 4217) on pages, in notices and in the CLI; empty: credits.',
  }),
  LOW_QUOTA: integer(0, 1e15, {
    default: '500000',
    description: 'Accounts are notified when their wallet falls below this quota; 0: never.',
  }),
  DEFAULT_VIDEO_MODEL: optionalPattern(/^[^\s]{1,200}$/u, 'must be the id of a model', {
    description:
      'Model of `POST /v1/videos` without one, and the first in the studio; empty: the cheapest enabled model that makes videos from text and is not retiring.',
  }),
  PROMPT_MODEL: optionalPattern(/^[^\s]{1,200}$/u, 'must be the id of a model', {
    description: 'Chat model that improves prompts in the studio, charged like any call; empty: not offered.',
  }),
  DEVICE_CODES_PER_ADDRESS: integer(1, 1_000_000, {
    default: '50',
    description: 'Device codes an IP address may have pending; it may request six times as many in ten minutes.',
  }),
  FILES_IMAGE_MB: integer(1, 4_000, {
    default: '30',
    description: 'Largest uploaded image in MiB.',
  }),
  FILES_AUDIO_MB: integer(1, 4_000, {
    default: '50',
    description: 'Largest uploaded audio file in MiB.',
  }),
  FILES_VIDEO_MB: integer(1, 4_000, {
    default: '500',
    description: 'Largest uploaded video in MiB.',
  }),
  FILES_JSONL_MB: integer(1, 4_000, {
    default: '200',
    description: 'Largest uploaded JSONL file in MiB.',
  }),
  RETENTION_LOGINS_DAYS: integer(0, 36_500, {
    default: '90',
    description: 'Days until a login or attempt leaves the sign-in history; 0: never.',
  }),
  RETENTION_EVENTS_DAYS: integer(0, 36_500, {
    default: '30',
    description: 'Days that webhook events and deliveries are kept for replay; 0: unlimited.',
  }),
  PHONE_HTTP_URL: url(['http:', 'https:'], {
    description: 'URL that receives POST {phone, code}; without one, codes are logged (development).',
  }),
} as const satisfies Record<string, Setting>;

/** Standard variables of OpenTelemetry, documented in docs/metrics.md. */
export const OTEL_VARIABLES = {
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url(['http:', 'https:'], {
    description: 'The same with its whole path; takes precedence.',
  }),
  OTEL_SDK_DISABLED: flag({ default: '0', description: '1 disables traces.' }),
  OTEL_EXPORTER_OTLP_HEADERS: optionalPairs({
    secret: true,
    description: 'Headers for the collector: name=value, separated by commas, values percent-encoded.',
  }),
  OTEL_SERVICE_NAME: optionalText({
    description: 'Name of the service in traces; default: `service.name` of OTEL_RESOURCE_ATTRIBUTES, else reelgate.',
  }),
  OTEL_RESOURCE_ATTRIBUTES: optionalPairs({
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
  OTEL_TRACES_SAMPLER_ARG: optionalPattern(/^(?:0|1|0?\.\d+|1\.0+)$/, 'must be a number from 0 to 1, such as 0.05', {
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
