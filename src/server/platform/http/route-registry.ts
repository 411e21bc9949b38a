import type { IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type buildSerializer from 'fast-json-stringify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { Role } from '../../../contract/account-fields.ts';
import {
  type Endpoint,
  type EndpointPart,
  isModelPolicy,
  type ModelPolicy,
  type Policy,
} from '../../../contract/endpoint.ts';
import type { Locale } from '../../../contract/messages/format-message.ts';
import { defined } from '../../../contract/objects.ts';
import type { OrganizationRole } from '../../../contract/organization-roles.ts';
import { AppError } from '../app-error.ts';
import { memoizeByObject } from '../cache.ts';
import { type BodyImages, NO_IMAGES } from '../json.ts';
import type { KeyLimits } from '../limits/rate-limits.ts';
import type { Log } from '../log.ts';
import { type IncomingFile, readUpload, type UploadedFile } from './body.ts';
import { compressResponse } from './compression.ts';
import { sessionCookieOf } from './login-cookies.ts';
import { dropDeclaredNulls, pickDeclaredKeys, validatorFor } from './schema-validation.ts';

interface ClientFacts {
  /** The client's IP address; proxies in TRUST_PROXY are skipped. */
  readonly clientIp: string;
  readonly locale: Locale;
  readonly log: Log;
}

/**
 * The facts about a request that a handler may use beyond its validated parts. A class, because each object literal
 * with getters has its own shape, and such a shape keeps its request in memory until a full garbage collection.
 */
export class RequestContext {
  readonly #request: FastifyRequest;
  readonly id: string;
  readonly clientIp: string;
  readonly locale: Locale;
  readonly log: Log;
  readonly headers: FastifyRequest['headers'];
  /** Value of the cookie `session`. */
  readonly session: string | undefined;

  constructor(request: FastifyRequest, { clientIp, locale, log }: ClientFacts) {
    this.#request = request;
    this.id = request.id;
    this.clientIp = clientIp;
    this.locale = locale;
    this.log = log;
    this.headers = request.headers;
    this.session = sessionCookieOf(request);
  }

  /** File parts of a multipart body. */
  get files(): readonly UploadedFile[] {
    return this.#request.uploads ?? [];
  }

  /** Reads the body of an endpoint that accepts an `upload`; see {@link readUpload}. */
  readUpload<T>(receive: (file: IncomingFile) => Promise<T>): ReturnType<typeof readUpload<T>> {
    return readUpload(this.#request, receive);
  }

  /** Large images in the `imageFields` of a JSON body. Released once the handler has returned. */
  get bodyImages(): BodyImages {
    return this.#request.rawBody?.images ?? NO_IMAGES;
  }

  /** The unparsed body, for rules that need the exact bytes (idempotency). Released once the handler has returned. */
  get rawBody(): Buffer | undefined {
    return this.#request.rawBody?.bytes;
  }

  /** Takes over the unparsed body, for a handler that uses the bytes after it has returned. */
  takeRawBody(): Buffer | undefined {
    const { rawBody } = this.#request;
    this.#request.rawBody = undefined;
    return rawBody?.bytes;
  }

  /** Whether the request came from OpenAI's own client. */
  get isOpenAiSdk(): boolean {
    return isOpenAiSdk(this.headers);
  }

  /** Adds headers to the response of a handler that returns its body. */
  setResponseHeaders(headers: Readonly<Record<string, string>>): void {
    this.#request.responseHeaders = { ...this.#request.responseHeaders, ...headers };
  }

  /** The socket of the client, or of the proxy in front of it. */
  get socket(): Socket {
    return this.#request.raw.socket;
  }

  /** Aborted when the client disconnects before the response is complete. */
  get disconnected(): AbortSignal {
    return disconnectSignalOf(this.#request.raw.socket);
  }
}

/** The clients that Stainless generates for OpenAI send their language in a header. */
export const isOpenAiSdk = (headers: FastifyRequest['headers']): boolean => headers['x-stainless-lang'] !== undefined;

/**
 * The language of the response, by Accept-Language (RFC 9110 section 12.5.4) including quality values; other languages
 * fall back.
 */
export function negotiateLocale(acceptLanguage: string | undefined, fallback: Locale): Locale {
  if (acceptLanguage === undefined || acceptLanguage.length > 256) return fallback;
  let best: { readonly locale: Locale; readonly quality: number } | undefined;
  for (const part of acceptLanguage.split(',')) {
    const [tag = '', ...parameters] = part.trim().toLowerCase().split(';');
    const quality = Number(/^\s*q=([01](?:\.\d{0,3})?)\s*$/.exec(parameters[0] ?? '')?.[1] ?? '1');
    const locale = /^zh(-|$)/.test(tag) ? 'zh-CN' : /^en(-|$)/.test(tag) ? 'en' : undefined;
    if (locale !== undefined && quality > 0 && quality > (best?.quality ?? 0)) best = { locale, quality };
  }
  return best?.locale ?? fallback;
}

/** One signal per connection, because listeners per request would accumulate on kept-alive connections. */
const gone = new WeakMap<Socket, AbortSignal>();

function disconnectSignalOf(socket: Socket): AbortSignal {
  const known = gone.get(socket);
  if (known !== undefined) return known;
  const controller = new AbortController();
  socket.once('close', () => controller.abort());
  if (socket.destroyed) controller.abort();
  gone.set(socket, controller.signal);
  return controller.signal;
}

/** A member acting for an organization. */
interface Membership {
  /** Id of the person. */
  readonly userId: number;
  readonly role: OrganizationRole;
  readonly slug: string;
  /** Whether the member sees the prompts of other members. */
  readonly seesPrompts: boolean;
  /** Role of the person's own account. */
  readonly accountRole: Role;
}

/**
 * A person with a management credential. Device access tokens carry the authorization they were issued for. Acting for
 * an organization, `userId` is the organization's, `role` is `user`, and `member` is the person.
 */
export type AccountCaller = AccountCredential & { readonly member?: Membership };

/** Id of the calling person. */
export const actorIdOf = ({ userId, member }: AccountCaller): number => member?.userId ?? userId;

type AccountCredential =
  | {
      readonly kind: 'session';
      readonly userId: number;
      readonly role: Role;
      readonly sessionId: number;
      /** The session was just extended, and its cookie should be too. */
      readonly renewed?: boolean;
    }
  | { readonly kind: 'user-token'; readonly userId: number; readonly role: Role; readonly tokenHash: string }
  | {
      readonly kind: 'device';
      readonly userId: number;
      readonly role: Role;
      readonly authorizationId: number;
      /** An OAuth grant, whose owner chose its scopes, instead of a device sign-in. */
      readonly isGrant?: boolean;
    };

/** A program with an `sk-` token, or of a device sign-in or OAuth grant: each has a row of `tokens`. */
export interface ModelCaller {
  readonly kind: 'model';
  readonly userId: number;
  /** The member who created the token of an organization. */
  readonly actorId?: number;
  readonly tokenId: number;
  /** Models this token permits; empty: all. */
  readonly models: readonly string[];
  /** Undefined when the token has no limits. */
  readonly limits?: KeyLimits;
}

/** The authenticated sender of a request. */
export type Caller = AccountCaller | ModelCaller;

/** An account or organization, and the member who acts for an organization. */
export interface Owner {
  readonly userId: number;
  readonly actorId?: number;
}

/** The owner a caller acts for. */
export function ownerOf(caller: Caller): Owner {
  const { userId } = caller;
  const actorId = caller.kind === 'model' ? caller.actorId : caller.member?.userId;
  return actorId === undefined ? { userId } : { userId, actorId };
}

/** The owner of the data a caller reads; `actorId`: the only member whose prompts it may see. A key sees its author's. */
export const promptReaderOf = (caller: Caller): Owner =>
  caller.kind !== 'model' && caller.member?.seesPrompts === true ? { userId: caller.userId } : ownerOf(caller);

/** The only member whose objects a caller may end; undefined: all of the owner's. A key ends its author's. */
export const limitedAuthorOf = (caller: Caller): number | undefined =>
  caller.kind === 'model' ? caller.actorId : caller.member?.role === 'member' ? caller.member.userId : undefined;

/** The type of caller a handler receives, by the policy of its endpoint. */
type CallerOf<P extends Policy> = P extends 'public' | 'self'
  ? undefined
  : P extends ModelPolicy
    ? ModelCaller
    : AccountCaller;

/** The parts of a request that authenticate its sender. */
export interface Credentials {
  readonly headers: IncomingHttpHeaders;
  /** Value of the cookie `session`. */
  readonly session: string | undefined;
  readonly clientIp: string;
}

/** Policies of people. */
export type AccountPolicy = 'account' | 'owner' | 'admin' | 'root';

/**
 * Resolves credentials to a caller permitted by the policy, or throws `unauthorized`, `invalid_api_key`, `forbidden` or
 * `account_disabled`, `second_factor_required`. Implemented by accounts and passed to the HTTP layer by app.ts.
 */
export interface Authenticator {
  account(
    policy: AccountPolicy,
    credentials: Credentials,
    rules?: Pick<Endpoint, 'withoutSecondFactor' | 'organization'>,
  ): Promise<AccountCaller>;
  /** @param policy default `model` */
  model(credentials: Credentials, policy?: ModelPolicy): Promise<ModelCaller>;
}

/** The origin of a request, as recorded in the audit log. */
export interface RequestOrigin {
  /** IP address of the client. */
  readonly address: string;
  readonly requestId: string;
}

/** The author and origin of a change. Spread it into an audit entry. */
export interface Actor extends RequestOrigin {
  /** Id of the acting account. */
  readonly actorId: number;
  /** Id of the account or organization acted for. */
  readonly ownerId?: number;
}

/** The author of a change to something an account or organization owns. */
export type OwnerActor = Actor & { readonly ownerId: number };

/** The origin of a request for the audit log. */
export const toRequestOrigin = ({ clientIp, id }: RequestContext): RequestOrigin => ({
  address: clientIp,
  requestId: id,
});

/** The author of a change for the audit log. */
export const toActor = (caller: AccountCaller, request: RequestContext): OwnerActor => ({
  actorId: actorIdOf(caller),
  ownerId: caller.userId,
  ...toRequestOrigin(request),
});

/** Client data of a login, apart from the password. */
export interface LoginClient {
  /** IP address. */
  readonly address: string;
  readonly userAgent: string;
  /** Value of the session cookie sent with the login. */
  readonly session?: string;
  /** Value of the cookie that marks a device on which a user has logged in. */
  readonly knownDevice?: string;
}

/** Client data of a login request. */
export const toLoginClient = (
  { clientIp, headers, session }: RequestContext,
  knownDevice: string | undefined,
): LoginClient => ({ address: clientIp, userAgent: headers['user-agent'] ?? '', session, knownDevice });

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly endpoint?: Endpoint;
  }
}

/** The validated input of a handler. */
export interface Input<E extends Endpoint> {
  readonly params: EndpointPart<E, 'params'>;
  readonly query: EndpointPart<E, 'query'>;
  readonly body: EndpointPart<E, 'body'>;
  readonly caller: CallerOf<E['policy']>;
  readonly request: RequestContext;
  /** For headers, cookies, streams and statuses other than 200. */
  readonly reply: FastifyReply;
}

/** Returns the success body of the endpoint, or `reply` itself when it has sent the response another way. */
export type Handler<E extends Endpoint> = (input: Input<E>) => Promise<EndpointPart<E, 'response'> | FastifyReply>;

interface RouteDependencies {
  readonly authenticator: Authenticator;
  contextOf(request: FastifyRequest): RequestContext;
}

/** Paths on which OpenAI's clients send null for an omitted field. */
const NULL_IS_ABSENT = /^\/v\d/;

/** Where modules register their handlers; a route exists only with an endpoint of the contract. */
export class RouteRegistry {
  readonly #fastify: FastifyInstance;
  readonly #dependencies: RouteDependencies;
  readonly #endpoints: Endpoint[] = [];

  constructor(fastify: FastifyInstance, dependencies: RouteDependencies) {
    this.#fastify = fastify;
    this.#dependencies = dependencies;
  }

  /** The endpoints added so far, for the API reference and the tests that visit all routes. */
  get endpoints(): readonly Endpoint[] {
    return this.#endpoints;
  }

  /** Connects an endpoint to Fastify: policy first, then the body, the schemas and the handler. */
  add<const E extends Endpoint>(declaration: E, handler: Handler<E>): void {
    const { authenticator, contextOf } = this.#dependencies;
    const endpoint = declaration.path.startsWith('/api/admin/') ? withClosedBody(declaration) : declaration;
    this.#endpoints.push(endpoint);
    const resolveCaller = callerResolverFor(endpoint, authenticator);
    // A sender may take any time over the body, and log out, be disabled or demoted meanwhile.
    const recheckCaller = async (request: FastifyRequest): Promise<void> => {
      if (request.body != null) await resolveCaller(request, contextOf(request));
    };
    this.#fastify.route({
      method: endpoint.method,
      url: endpoint.path,
      // Fastify passes HEAD to the GET handler, which may check the method.
      exposeHeadRoute: endpoint.method === 'GET',
      bodyLimit: bodyLimitOf(endpoint),
      config: { endpoint },
      schema: defined({
        params: endpoint.params,
        querystring: endpoint.query,
        body: endpoint.accepts === 'upload' ? undefined : endpoint.body,
        response: endpoint.response && { 200: endpoint.response },
      }),
      serializerCompiler: ({ schema }) => lazySerializer(schema),
      validatorCompiler: ({ schema }) => validatorFor(schema as Parameters<typeof validatorFor>[0]),
      // The caller must be authenticated before any body is read.
      onRequest: async (request) => {
        // `/v1/models/` is not `/v1/models/:id` with an empty id.
        if (Object.values(request.params as object).includes('')) throw new AppError('not_found');
        request.caller = await resolveCaller(request, contextOf(request));
      },
      preValidation: async (request) => prepareForValidation(endpoint, request),
      preHandler: isOfPeople(endpoint) ? (request) => recheckCaller(request) : [],
      onSend: endpoint.compressed === true ? compressResponse : [],
      handler: async (request, reply) => {
        if (endpoint.secret === true) reply.header('cache-control', 'no-store');
        const input = {
          params: request.params,
          query: request.query,
          // On /api unknown keys have no meaning and are removed; elsewhere they may belong to a vendor.
          body: endpoint.envelope === 'api' ? pickDeclaredKeys(endpoint.body, request.body) : request.body,
          caller: request.caller,
          request: contextOf(request),
          reply,
        };
        request.isHandled = true;
        try {
          return await handler(input as Parameters<typeof handler>[0]);
        } finally {
          // Of errors too: a refused call states what its limits leave.
          if (request.responseHeaders !== undefined && !reply.sent) reply.headers(request.responseHeaders);
          request.rawBody?.discard();
        }
      },
    });
  }
}

/**
 * Administrators' bodies take no undeclared members, because a misspelt setting that is ignored looks like one that was
 * made.
 */
function withClosedBody<E extends Endpoint>(endpoint: E): E {
  const { body } = endpoint;
  if (body === undefined || !Type.IsObject(body) || 'additionalProperties' in body) return endpoint;
  const { type: _, required: __, properties, ...options } = body;
  return { ...endpoint, body: Type.Object(properties, { ...options, additionalProperties: false }) };
}

/** Body limit in bytes; the default suits bodies of a few fields. */
export const bodyLimitOf = ({ bodyLimit }: Pick<Endpoint, 'bodyLimit'>): number => bodyLimit ?? 64 * 1024;

function prepareForValidation(endpoint: Endpoint, request: FastifyRequest): void {
  // PostgreSQL cannot store U+0000 or compare with it; percent-encoding cannot produce ill-formed text otherwise.
  if (request.url.includes('%00')) throw new AppError('invalid_text');
  if (endpoint.optionalBody === true) request.body ??= {};
  if (NULL_IS_ABSENT.test(endpoint.path)) dropDeclaredNulls(endpoint.body, request.body);
}

/** Accepts a key in the query, as Google's clients may send it, when no header contains one. */
function withQueryKey(
  { envelope }: Endpoint,
  headers: FastifyRequest['headers'],
  query: unknown,
): FastifyRequest['headers'] {
  const { key } = (query ?? {}) as { readonly key?: unknown };
  const isGiven = envelope === 'gemini' && typeof key === 'string' && headers.authorization === undefined;
  return isGiven && headers['x-goog-api-key'] === undefined ? { ...headers, 'x-goog-api-key': key } : headers;
}

/** Whether the caller is a person with a session or another credential of the account. */
const isOfPeople = ({ policy }: Endpoint): boolean =>
  policy !== 'public' && policy !== 'self' && !isModelPolicy(policy);

type CallerResolver = (request: FastifyRequest, context: RequestContext) => Promise<FastifyRequest['caller']>;

function callerResolverFor(endpoint: Endpoint, authenticator: Authenticator): CallerResolver {
  const { policy } = endpoint;
  if (policy === 'public' || policy === 'self') return async () => undefined;
  if (isModelPolicy(policy))
    return async ({ query }, { headers, session, clientIp }) =>
      authenticator.model({ headers: withQueryKey(endpoint, headers, query), session, clientIp }, policy);
  return async (_, { headers, session, clientIp }) => {
    const caller = await authenticator.account(policy, { headers, session, clientIp }, endpoint);
    if (endpoint.spends === true && caller.kind === 'device' && caller.isGrant)
      throw new AppError('insufficient_scope');
    return caller;
  };
}

type Serialize = (value: unknown) => string;

const load = createRequire(import.meta.url);

const serializerOf = memoizeByObject((schema: object) =>
  (load('fast-json-stringify') as typeof buildSerializer)(schema),
);

/**
 * Serializes the responses of a schema like Fastify's own serializer, but loads and builds it for the first response:
 * building those of all endpoints took a quarter of the startup's CPU time, loading the builder a twentieth.
 */
const lazySerializer =
  (schema: object): Serialize =>
  (value) =>
    serializerOf(schema)(value);
