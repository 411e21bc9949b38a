import type { FastifyReply } from 'fastify';
import { type AmountUnit, amountUnitName, SPEND_PERIODS } from '../../contract/amounts.ts';
import { toDeviceAuthorization } from '../../contract/device-pages.ts';
import type { ErrorCode } from '../../contract/error-codes.ts';
import { formatMessage, LOCALES } from '../../contract/messages/format-message.ts';
import type { Audience } from '../../contract/oauth.ts';
import * as endpoints from '../../contract/oauth.ts';
import { defined } from '../../contract/objects.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import { AppError, invalidRequest, isAppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live, SiteSettings } from '../platform/config.ts';
import { STANDALONE_PAGE_HEADERS } from '../platform/html.ts';
import { type RequestContext, type RouteRegistry, toRequestOrigin } from '../platform/http/route-registry.ts';
import { isWellFormedText } from '../platform/text.ts';
import type { ClientCredentials } from './clients.ts';
import {
  type AuthorizationRequest,
  CODE_AUDIENCES,
  findAudience,
  type GrantLimits,
  readRequest,
  readTarget,
  toRedirect,
  toRedirectError,
  type ValidRequest,
} from './grants.ts';
import type { DeviceAuth } from './module.ts';
import {
  PAGE_STEPS,
  type PageChooser,
  type PageVisit,
  type PageVisits,
  respond,
  sendPage,
  toProof,
  type Viewer,
} from './page-routes.ts';
import type { CodeExchange, OnPendingPoll, TokenPair } from './tokens.ts';
import {
  type GrantError,
  type GrantFields,
  grantView,
  loginView,
  returnView,
  secondFactorView,
  secondStepView,
} from './views.ts';

interface ClientFields {
  readonly client_id?: string;
  readonly client_secret?: string;
}

interface ExchangeFields {
  readonly code?: string;
  readonly redirect_uri?: string;
  readonly code_verifier?: string;
  readonly resource?: string;
}

/** Dependencies of the OAuth endpoints. */
export interface OauthRouteDependencies {
  readonly deviceAuth: Pick<DeviceAuth, 'codes' | 'deviceTokens'>;
  /** Issuer, and prefix of every link. */
  readonly baseUrl: string;
  readonly site: Live<Pick<SiteSettings, 'siteName' | 'oauthClientMetadata'>>;
}

const RESOURCE_METADATA = { api: endpoints.apiMetadata, mcp: endpoints.mcpMetadata } as const;

/**
 * Registers the endpoints of RFC 8628, 8414 and 7009, for any OAuth client library. They share records with the JSON
 * endpoints.
 */
export function addOauthRoutes(routes: RouteRegistry, { deviceAuth, baseUrl, site }: OauthRouteDependencies): void {
  const { codes, deviceTokens } = deviceAuth;
  const metadata = async () => toMetadata(baseUrl, site.current().oauthClientMetadata);
  routes.add(endpoints.oauthMetadata, metadata);
  routes.add(endpoints.openidConfiguration, metadata);
  for (const audience of CODE_AUDIENCES)
    routes.add(RESOURCE_METADATA[audience], async () => toResourceMetadata(audience, baseUrl, site.current().siteName));

  routes.add(endpoints.oauthDeviceAuthorization, async ({ body, request }) => {
    // No secret is required to request a code, as on the JSON endpoint.
    const clientId = readClientId(body, request);
    if (clientId === undefined) throw missingParameter('client_id');
    const issued = await codes.issue({
      clientId,
      clientName: body.client_name ?? '',
      deviceId: body.device_id ?? '',
      userAgent: request.headers['user-agent'] ?? '',
      address: request.clientIp,
    });
    return toDeviceAuthorization(issued, baseUrl);
  });

  const onPending: OnPendingPoll = (code, now) => codes.pacePoll(code, now);

  routes.add(endpoints.oauthToken, async ({ body, request }) => {
    const origin = toRequestOrigin(request);
    if (body.grant_type === undefined) throw missingParameter('grant_type');
    if (body.grant_type === endpoints.DEVICE_GRANT) {
      if (body.device_code === undefined) throw missingParameter('device_code');
      const credentials = readClientCredentials(body, request);
      const tokens = await deviceTokens.exchangeCode(body.device_code, credentials, origin, onPending);
      const { llmToken, userId, username, displayName } = tokens;
      const account = { user_id: userId, username, display_name: displayName };
      return { ...toTokenResponse(tokens), ...defined({ llm_token: llmToken }), ...account };
    }
    if (body.grant_type === 'authorization_code') {
      const exchange = readExchange(body, baseUrl);
      const credentials = readClientCredentials(body, request);
      const tokens = await deviceTokens.exchangeAuthorizationCode(exchange, credentials, origin);
      // The management API needs the id; other applications learn nothing about the account.
      const account = tokens.scope.split(' ').includes('account') ? tokens : undefined;
      return {
        ...toTokenResponse(tokens),
        ...defined({
          user_id: account?.userId,
          username: account?.username,
          display_name: account?.displayName,
        }),
      };
    }
    if (body.grant_type === 'refresh_token') {
      if (body.refresh_token === undefined) throw missingParameter('refresh_token');
      const credentials = readClientCredentials(body, request);
      const asked = defined({ scope: body.scope, audience: readAudience(body.resource, baseUrl) });
      return toTokenResponse(await deviceTokens.refresh(body.refresh_token, credentials, origin, asked));
    }
    throw new AppError('unsupported_grant_type');
  });

  routes.add(endpoints.oauthRevoke, async ({ body, request }) => {
    if (body.token === undefined) throw missingParameter('token');
    await deviceTokens.revokeToken(body.token, readClientCredentials(body, request), toRequestOrigin(request));
    return {};
  });
}

/** `none`: public clients, which authenticate by PKCE alone. */
const AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'none'] as const;

const toMetadata = (baseUrl: string, acceptsMetadata: boolean) => ({
  issuer: baseUrl,
  authorization_endpoint: `${baseUrl}${endpoints.oauthAuthorize.path}`,
  device_authorization_endpoint: `${baseUrl}${endpoints.oauthDeviceAuthorization.path}`,
  token_endpoint: `${baseUrl}${endpoints.oauthToken.path}`,
  revocation_endpoint: `${baseUrl}${endpoints.oauthRevoke.path}`,
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', endpoints.DEVICE_GRANT, 'refresh_token'],
  scopes_supported: [...endpoints.OAUTH_SCOPES],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: acceptsMetadata,
  token_endpoint_auth_methods_supported: [...AUTH_METHODS],
  revocation_endpoint_auth_methods_supported: [...AUTH_METHODS],
  service_documentation: `${baseUrl}/docs`,
  ui_locales_supported: [...LOCALES],
});

const toResourceMetadata = (audience: Audience, baseUrl: string, siteName: string) => ({
  resource: `${baseUrl}${endpoints.AUDIENCES[audience].path}`,
  authorization_servers: [baseUrl],
  scopes_supported: [...endpoints.AUDIENCES[audience].scopes],
  bearer_methods_supported: ['header'],
  resource_name: siteName,
  resource_documentation: `${baseUrl}/docs`,
});

/** A parameter without a value is left out (RFC 6749 section 3.2). */
const orOmitted = (parameter: string | undefined): string | undefined => (parameter === '' ? undefined : parameter);

/** The resource that tokens are requested for (RFC 8707 section 2.2). @throws invalid_target */
function readAudience(parameter: string | undefined, baseUrl: string): Audience | undefined {
  const resource = orOmitted(parameter);
  const audience = resource === undefined ? undefined : findAudience(resource, baseUrl);
  if (resource !== undefined && audience === undefined) throw new AppError('invalid_target');
  return audience;
}

/** @throws invalid_request, invalid_target */
function readExchange(
  { code, redirect_uri: redirectUri, code_verifier: verifier, resource }: ExchangeFields,
  baseUrl: string,
): CodeExchange {
  if (code === undefined) throw missingParameter('code');
  if (verifier === undefined) throw missingParameter('code_verifier');
  return { code, redirectUri: orOmitted(redirectUri), verifier, audience: readAudience(resource, baseUrl) };
}

const missingParameter = (name: string): AppError => invalidRequest(`${name} is required`, name);

const toTokenResponse = (pair: TokenPair) => ({
  access_token: pair.accessToken,
  token_type: 'Bearer' as const,
  expires_in: pair.expiresInSeconds,
  refresh_token: pair.refreshToken,
  scope: pair.scope,
});

/**
 * Reads id and secret from HTTP Basic or the body; an empty secret is none, as public clients may send it.
 *
 * @throws invalid_request if both are present, invalid_client if neither is
 */
function readClientCredentials(body: ClientFields, request: RequestContext): ClientCredentials {
  const basic = parseBasicAuthorization(request.headers.authorization);
  const [clientId, clientSecret] = [orOmitted(body.client_id), orOmitted(body.client_secret)];
  if (basic === undefined) {
    if (clientId === undefined) throw new AppError('invalid_client');
    return { clientId, clientSecret };
  }
  if (clientSecret !== undefined) throw invalidRequest('Authenticate in one way only', 'client_secret');
  if (clientId !== undefined && clientId !== basic.clientId) throw new AppError('invalid_client');
  return { ...basic, clientSecret: orOmitted(basic.clientSecret) };
}

const readClientId = (body: ClientFields, request: RequestContext): string | undefined =>
  orOmitted(body.client_id) ?? parseBasicAuthorization(request.headers.authorization)?.clientId;

/** Both halves are form-encoded before Base64 (RFC 6749 section 2.3.1). */
function parseBasicAuthorization(header: string | undefined): ClientCredentials | undefined {
  if (header === undefined) return undefined;
  const encoded = /^basic +([A-Za-z0-9+/=]{1,1000})\s*$/i.exec(header)?.[1];
  const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const clientId = decodeFormValue(text.slice(0, colon));
  // PostgreSQL cannot compare with U+0000, which neither the header nor its first decoding shows.
  if (colon === -1 || !isWellFormedText(clientId)) throw new AppError('invalid_client');
  return { clientId, clientSecret: decodeFormValue(text.slice(colon + 1)) };
}

/** Decodes one form-encoded value. */
const decodeFormValue = (text: string): string =>
  new URLSearchParams(`v=${text.replaceAll('&', '%26')}`).get('v') ?? '';

interface ConsentRouteDependencies {
  readonly deviceAuth: Pick<DeviceAuth, 'approvalCheck' | 'clients' | 'grants' | 'memberships'>;
  readonly clock: Clock;
  /** Issuer, and prefix of every link. */
  readonly baseUrl: string;
  /** The unit that people type amounts in. */
  readonly amountUnit: () => AmountUnit;
}

/** An error at one field of the limits. */
type LimitError = 'amountInvalid' | 'daysInvalid';
const FIELD_OF: Readonly<Record<LimitError, keyof GrantFields>> = {
  amountInvalid: 'spend_limit_amount',
  daysInvalid: 'expires_in_days',
};
/** Errors of the second step, which the person repeats in the same form. */
const SECOND_STEP_ERRORS: ReadonlySet<ErrorCode> = new Set([
  'wrong_code',
  'wrong_passkey',
  'passkey_expired',
  'second_step_required',
]);
const MAX_DAYS = 365;
const MAX_QUOTA = 1e15;

/**
 * Registers the pages on which a person lets an application in (RFC 6749 section 4.1). The request travels in the URL
 * and the forms and is read again at each step, so nothing is stored for anonymous visitors.
 */
export function addConsentRoutes(
  routes: RouteRegistry,
  dependencies: ConsentRouteDependencies,
  visits: PageVisits,
  chooser: PageChooser,
): void {
  const { deviceAuth, clock, baseUrl, amountUnit } = dependencies;
  const { grants } = deviceAuth;
  const pages = new ConsentPages(dependencies, chooser);

  routes.add(endpoints.oauthAuthorize, async ({ query, request, reply }) => {
    const [, requested = ''] = /\?(.*)$/s.exec(reply.request.url) ?? [];
    const visit = visits.open(request, reply, '', query.lang, requested.slice(0, endpoints.MAX_REQUEST_LENGTH));
    return pages.withRequest(visit, requested, async (valid) => {
      const viewer = await chooser.findViewer(request);
      if (viewer !== undefined && (await chooser.lacksFactor(viewer)))
        return sendPage(visit, 200, secondFactorView(visit.context));
      if (viewer !== undefined) return pages.showGrant(visit, valid, viewer);
      const isSecondStep = query.step === PAGE_STEPS.secondStep;
      return sendPage(visit, 200, isSecondStep ? secondStepView(visit.context) : loginView(visit.context));
    });
  });

  routes.add(endpoints.oauthApprove, async ({ body, request, reply }) => {
    const visit = visits.open(request, reply, '', body.lang, body.request);
    return pages.withRequest(visit, body.request, async (valid) => {
      visits.assertOwnForm(visit, 'approve', body.form);
      const viewer = await chooser.findViewer(request);
      if (viewer === undefined) return sendPage(visit, 200, loginView(visit.context));
      const limits = readLimits(body, amountUnit(), clock.now());
      if (typeof limits === 'string')
        return pages.showGrant(visit, valid, viewer, body, {
          error: visit.context.texts[limits],
          field: FIELD_OF[limits],
        });
      const origin = { ...toRequestOrigin(request), userAgent: request.headers['user-agent'] ?? '' };
      const approver = { ...viewer, organization: body.organization };
      const approve = async () => grants.approve(valid, approver, limits, origin, toProof(body));
      return approve().then(
        (code) => returnToClient(visit, toRedirect(valid, baseUrl, { code })),
        (error: unknown) => {
          if (isAppError(error, 'second_factor_required')) return sendPage(visit, 403, secondFactorView(visit.context));
          if (!isAppError(error) || !SECOND_STEP_ERRORS.has(error.code)) throw error;
          const message = formatMessage(error.code, visit.locale);
          return pages.showGrant(visit, valid, viewer, body, { error: message, field: 'secondStep' });
        },
      );
    });
  });

  routes.add(endpoints.oauthDeny, async ({ body, request, reply }) => {
    const visit = visits.open(request, reply, '', body.lang, body.request);
    return pages.withRequest(visit, body.request, async (valid) => {
      visits.assertOwnForm(visit, 'deny', body.form);
      const viewer = await chooser.findViewer(request);
      const origin = { ...toRequestOrigin(request), userAgent: '' };
      if (viewer !== undefined) await grants.deny(valid, viewer.account.id, origin);
      throw new AppError('access_denied');
    });
  });
}

/** The steps that the consent routes share. */
class ConsentPages {
  readonly #dependencies: ConsentRouteDependencies;
  readonly #chooser: Pick<PageChooser, 'findSecondStep'>;

  constructor(dependencies: ConsentRouteDependencies, chooser: Pick<PageChooser, 'findSecondStep'>) {
    this.#dependencies = dependencies;
    this.#chooser = chooser;
  }

  /** Runs `work` with the request, and reports its errors to the client once its redirect URI is known to be valid. */
  withRequest(
    visit: PageVisit,
    query: string,
    work: (request: ValidRequest) => Promise<FastifyReply>,
  ): Promise<FastifyReply> {
    const { deviceAuth, baseUrl } = this.#dependencies;
    return respond(visit, async () => {
      if (query.length > endpoints.MAX_REQUEST_LENGTH) throw invalidRequest('The request is too long.');
      // In a form the query is encoded once more, so that the form itself is well-formed text.
      if (query.includes('%00')) throw new AppError('invalid_text');
      // RFC 6749 section 3.1: a parameter without a value is left out.
      const parameters = new URLSearchParams([...new URLSearchParams(query)].filter(([, value]) => value !== ''));
      const { clientIp } = visit.request;
      const target = await readTarget(parameters, (id) => deviceAuth.clients.findForGrant(id, clientIp));
      const errorUrl = await findErrorUrl(target, baseUrl, async () => {
        await work(readRequest(target, parameters, baseUrl));
      });
      return errorUrl === undefined ? visit.reply : returnToClient(visit, errorUrl);
    });
  }

  /** Shows what the application requests, or the form again with an error at a field. */
  async showGrant(
    visit: PageVisit,
    { client, redirectUri, terms }: ValidRequest,
    viewer: Viewer,
    typed: GrantFields = {},
    wrong: GrantError = {},
  ): Promise<FastifyReply> {
    const { deviceAuth, amountUnit } = this.#dependencies;
    const { username, display_name: displayName } = viewer.account;
    const { clientIp } = visit.request;
    const { protocol, host } = new URL(redirectUri);
    const needsSecondStep = await deviceAuth.approvalCheck.needsSecondStep({ address: clientIp }, viewer, clientIp);
    const secondStep = needsSecondStep ? await this.#chooser.findSecondStep(viewer.account.id) : undefined;
    const details = {
      account: displayName === username ? username : `${displayName} (${username})`,
      client: client.name,
      publisher: client.publisher,
      redirectHost: protocol === 'https:' ? host : undefined,
      scopes: terms.scopes,
      unit: amountUnitName(amountUnit(), visit.locale),
      // A form of its own for passkeys would lack the limits.
      secondStep: secondStep?.hasCode ? { hasCode: true, passkeys: [] } : secondStep,
      organizations: await deviceAuth.memberships.listOf(viewer.account.id),
      typed,
    };
    const status = wrong.error === undefined ? 200 : 400;
    return sendPage(visit, status, grantView(visit.context, details, wrong));
  }
}

/** Runs `work`; returns where to send the browser if it fails with an error that is for the client. */
async function findErrorUrl(
  target: AuthorizationRequest,
  issuer: string,
  work: () => Promise<void>,
): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    const name = isAppError(error) ? toRedirectError(error.code) : undefined;
    if (name === undefined || !isAppError(error)) throw error;
    // Anyone can publish a client, so only a person's decision leads to it (RFC 9700 section 4.11.2).
    if (target.client.publisher !== undefined && error.code !== 'access_denied') throw error;
    const { message = formatMessage(error.code, 'en') } = error.options;
    return toRedirect(target, issuer, { error: name, error_description: message });
  }
}

/**
 * Sends the browser to the client. A form is answered with a page that does so: browsers hold each redirect after a form
 * against its `form-action`, also those of the client's site to a program, and one to a program would leave the form on
 * the screen. The client receives no form either way (RFC 9700 section 4.12).
 */
const returnToClient = (visit: PageVisit, url: string): FastifyReply =>
  visit.reply.request.method === 'POST'
    ? sendPage(visit, 200, returnView(visit.context, url))
    : visit.reply.headers(STANDALONE_PAGE_HEADERS).redirect(url, 303);

/** The limits that were typed; a text names the field that is wrong. Times are Unix milliseconds. */
function readLimits(
  { expires_in_days: days = '', spend_limit_amount: amount = '', spend_limit_period: period = 'month' }: GrantFields,
  { quotaPerCredit }: AmountUnit,
  now: number,
): GrantLimits | LimitError {
  const typedDays = days.trim();
  const isDays = /^[0-9]{1,3}$/.test(typedDays) && Number(typedDays) >= 1 && Number(typedDays) <= MAX_DAYS;
  if (typedDays !== '' && !isDays) return 'daysInvalid';
  const typedAmount = amount.trim();
  const quota = /^[0-9]{1,15}(?:\.[0-9]{0,9})?$/.test(typedAmount)
    ? Math.round(Number(typedAmount) * quotaPerCredit)
    : 0;
  const knownPeriod = SPEND_PERIODS.find((each) => each === period);
  if (typedAmount !== '' && (quota < 1 || quota > MAX_QUOTA || knownPeriod === undefined)) return 'amountInvalid';
  return {
    endsAt: typedDays === '' ? null : now + Number(typedDays) * DAY_MS,
    spendLimit: typedAmount === '' || knownPeriod === undefined ? null : { amount: quota, period: knownPeriod },
  };
}
