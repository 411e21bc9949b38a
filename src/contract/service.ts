import Type, { type Static } from 'typebox';
import { endpoint } from './endpoint.ts';
import { SignInProvider } from './identity-providers.ts';
import { Ok } from './responses.ts';

/**
 * Whether a service can have passkeys, and why not: browsers tie them to a host name (`ip`: BASE_URL has an IP address)
 * that is reached by https (`http`: it is not).
 */
export const PASSKEY_STATES = ['on', 'ip', 'http'] as const;
/** Whether a service can have passkeys, and why not. */
export type PasskeyState = (typeof PASSKEY_STATES)[number];

/** The state for a BASE_URL. Browsers also allow http for this machine itself. */
export function passkeyStateOf(baseUrl: string): PasskeyState {
  const { hostname, protocol } = new URL(baseUrl);
  // The URL parser writes every spelling of an IPv4 address as four decimal numbers.
  if (hostname.startsWith('[') || /^\d+(\.\d+){3}$/.test(hostname)) return 'ip';
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  return protocol === 'https:' || isLocal ? 'on' : 'http';
}

const open = { method: 'GET', tag: 'service', policy: 'public' } as const;

export const getStatus = endpoint({
  ...open,
  path: '/api/status',
  summary: 'Version and settings for clients before sign-in',
  envelope: 'api',
  response: Type.Object({
    success: Type.Literal(true),
    message: Type.String(),
    data: Type.Object({
      version: Type.String(),
      ready: Type.Boolean(),
      sandbox: Type.Boolean(),
      site_name: Type.String(),
      sign_in_notice: Type.String({ description: 'Shown above the form for signing in; empty: none.' }),
      registration: Type.String(),
      password_sign_in: Type.Boolean({ description: 'False: only root signs in with a password.' }),
      identity_providers: Type.Array(SignInProvider, { description: 'Sign in at `/auth/{id}/start`.' }),
      quota_per_unit: Type.Integer(),
      currency: Type.String({ description: 'Of one credit, by ISO 4217; empty: pages say credits.' }),
      status_page: Type.Boolean({ description: 'Whether `/status` shows everyone what works.' }),
      prompt_model: Type.String({ description: 'Chat model that improves prompts in the studio; empty: none.' }),
      default_video_model: Type.String({
        description: 'Model of videos for which none is named, which the studio starts with; empty: the cheapest.',
      }),
      api_user_header: Type.String(),
      server_address: Type.String(),
      phone_codes: Type.Enum(['sms', 'log'], { description: '`log`: development, codes are only written to the log.' }),
      mail: Type.Boolean({ description: 'Whether the service sends e-mail: passwords can be reset by it.' }),
      passkeys: Type.Enum([...PASSKEY_STATES], {
        description: '`ip`: off, since BASE_URL has an IP address; `http`: off, since it is not reached by https.',
      }),
      messaging_binding: Type.Boolean({ description: 'Whether a messaging app can be linked.' }),
    }),
  }),
});
export const livez = endpoint({
  ...open,
  path: '/livez',
  summary: 'Whether the process is alive',
  envelope: 'api',
  responseTypes: ['text/plain'],
});
const NOT_READY_REASONS = ['draining', 'database', 'disk_full', 'migrating'] as const;
/**
 * Why a process is not ready for requests: it is stopping, its database does not respond, the database's disk is full,
 * or its schema is being migrated.
 */
export type NotReadyReason = (typeof NOT_READY_REASONS)[number];

export const readyz = endpoint({
  ...open,
  path: '/readyz',
  summary: 'Whether this process accepts requests (200) or not (503, with the reason); responds within 2 seconds',
  envelope: 'api',
  responseStatuses: [200, 503],
  response: Type.Object({
    ready: Type.Boolean(),
    reason: Type.Optional(Type.Enum([...NOT_READY_REASONS], { description: 'Given where `ready` is false.' })),
  }),
});
export const metricsPage = endpoint({
  ...open,
  policy: 'self',
  path: '/metrics',
  summary: 'Metrics for Prometheus, with METRICS_TOKEN',
  envelope: 'api',
  responseTypes: ['text/plain', 'application/openmetrics-text'],
});

/** Parts of the service as its users know them. */
export const PRODUCT_AREAS = ['sign_in', 'video', 'chat'] as const;
/** A part of the service as its users know it. */
export type ProductArea = (typeof PRODUCT_AREAS)[number];
/** How far an outage affects an area: some calls fail or take longer, or all fail. Ascending. */
export const OUTAGE_LEVELS = ['limited', 'down'] as const;
/** How far an outage affects an area. */
export type OutageLevel = (typeof OUTAGE_LEVELS)[number];

/** Days for which the status page lists outages. */
export const OUTAGE_DAYS = 30;

const status = { ...open, envelope: 'page', compressed: true } as const;

export const statusPage = endpoint({
  ...status,
  path: '/status',
  summary: 'What works, and the outages of the last 30 days, as a page; 404 unless STATUS_PAGE is on',
  query: Type.Object({ lang: Type.Optional(Type.String({ maxLength: 16 })) }),
  responseTypes: ['text/html'],
});
export const statusFile = endpoint({
  ...open,
  path: '/status.json',
  summary: 'What works, and the outages of the last 30 days, newest first; 404 unless STATUS_PAGE is on',
  envelope: 'api',
  response: Type.Object({
    areas: Type.Array(
      Type.Object({
        area: Type.Enum([...PRODUCT_AREAS]),
        state: Type.Enum(['works', ...OUTAGE_LEVELS], {
          description: '`limited`: some calls fail or take longer; `down`: most or all fail.',
        }),
      }),
    ),
    incidents: Type.Array(
      Type.Object({
        area: Type.Enum([...PRODUCT_AREAS]),
        state: Type.Enum([...OUTAGE_LEVELS], { description: 'The worst state it had.' }),
        started_at: Type.Integer({ description: 'Unix seconds.' }),
        ended_at: Type.Union([Type.Integer(), Type.Null()], { description: 'Unix seconds; null: it continues.' }),
      }),
    ),
  }),
});

/** Incidents of docs/runbook.md by id, with their severity according to deploy/alerts.yml. */
export const INCIDENTS = {
  vendor_down: 'critical',
  vendor_slow: 'warning',
  key_revoked: 'critical',
  no_balance: 'critical',
  database_slow: 'warning',
  database_gone: 'critical',
  disk_nearly_full: 'critical',
  mail_server_gone: 'warning',
  replica_frozen: 'critical',
  backlog_grows: 'critical',
  ledger_mismatch: 'critical',
  billing_difference: 'warning',
  webhook_target_dead: 'warning',
} as const satisfies Readonly<Record<string, 'critical' | 'warning'>>;
/** Id of an incident. */
export type IncidentId = keyof typeof INCIDENTS;

const Count = Type.Integer({ minimum: 0 });
const Figures = Type.Object({ requests: Count, failed: Count, quota: Count });

export const getServiceStatus = endpoint({
  method: 'GET',
  path: '/api/admin/operations',
  summary: 'Service status: incidents, processes, costs of the last day and rejected calls',
  tag: 'service',
  policy: 'admin',
  envelope: 'api',
  response: Ok(
    Type.Object({
      incidents: Type.Array(
        Type.Object({
          id: Type.Enum(Object.keys(INCIDENTS)),
          severity: Type.Enum(['critical', 'warning']),
          is_open: Type.Boolean(),
          since: Type.Integer({ description: 'Unix seconds; 0 while it is not open.' }),
          subjects: Type.Array(Type.String(), { description: 'Vendors, channel ids, volumes or processes.' }),
        }),
        { description: 'All of them, open or not, as the processes learned them within the last minute.' },
      ),
      instances: Type.Array(
        Type.Object({
          name: Type.String(),
          version: Type.String(),
          started_at: Type.Integer(),
          seen_at: Type.Integer(),
          is_alive: Type.Boolean(),
        }),
      ),
      last_day: Figures,
      day_before: Figures,
      blocked: Type.Array(
        Type.Object({
          user_id: Type.Integer(),
          username: Type.String(),
          error_code: Type.String(),
          requests: Count,
          last_time: Type.Integer({ description: 'Unix seconds.' }),
        }),
        { description: 'Accounts whose calls of the last day were refused for what only they or you can change.' },
      ),
    }),
  ),
});

const root = { tag: 'admin', policy: 'root', envelope: 'api' } as const;

export const SETTING_SOURCES = ['environment', 'database', 'default'] as const;

/** A setting of the site with its value and the source of that value. */
export const SiteSetting = Type.Object({
  name: Type.String({ description: 'Its name, as in the environment where that can set it.' }),
  group: Type.Enum(['site', 'accounts', 'files', 'credits', 'retention', 'phone', 'messaging', 'mail']),
  kind: Type.Enum(['text', 'number', 'choice', 'long-text', 'picture', 'providers']),
  choices: Type.Array(Type.String(), { description: 'For `choice`.' }),
  value: Type.String({ description: 'What is in effect; empty where nothing is set, and for secrets.' }),
  default: Type.String({ description: 'What is in effect where nothing else is set.' }),
  source: Type.Enum([...SETTING_SOURCES], {
    description: 'Where the value comes from; the environment wins over the database.',
  }),
  is_set: Type.Boolean({ description: 'Whether there is a value; for secrets, whose value is not told.' }),
  editable: Type.Boolean({
    description: 'False where the environment gives it, or where it takes effect with a restart only.',
  }),
});
/** A setting of the site with its value and the source of that value. */
export type SiteSetting = Static<typeof SiteSetting>;

export const listSiteSettings = endpoint({
  ...root,
  method: 'GET',
  path: '/api/admin/settings',
  summary: 'The settings of the site with their sources',
  response: Ok(Type.Array(SiteSetting)),
});

/** Characters; holds a logo of 90 KB as a data URL. */
const MAX_VALUE_LENGTH = 128 * 1024;

export const updateSiteSetting = endpoint({
  ...root,
  method: 'PUT',
  path: '/api/admin/settings/:name',
  summary: 'Store a setting, in effect on every process within seconds; null restores the default',
  params: Type.Object({ name: Type.String({ pattern: '^[A-Z][A-Z0-9_]{0,63}$' }) }),
  bodyLimit: MAX_VALUE_LENGTH + 1024,
  body: Type.Object({ value: Type.Union([Type.String({ maxLength: MAX_VALUE_LENGTH }), Type.Null()]) }),
  response: Ok(SiteSetting),
});
