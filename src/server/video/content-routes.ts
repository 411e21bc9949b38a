import type { FastifyReply } from 'fastify';
import { LOCALES, type Locale } from '../../contract/messages/format-message.ts';
import { defined } from '../../contract/objects.ts';
import { putPoster } from '../../contract/own-videos.ts';
import { done, list, ok, toPage } from '../../contract/responses.ts';
import { isTerminal } from '../../contract/task-states.ts';
import { toSeconds } from '../../contract/time-units.ts';
import * as endpoints from '../../contract/video.ts';
import * as shareEndpoints from '../../contract/video-shares.ts';
import type { CredentialRevocationWatch } from '../accounts/credential-watch.ts';
import type { Artifacts } from '../artifacts/module.ts';
import type { Provenance } from '../artifacts/provenance.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live } from '../platform/config.ts';
import { html, languageLinks, type Markup, PLAYER_PAGE_HEADERS, standalonePage } from '../platform/html.ts';
import { showErrorsAsPage } from '../platform/http/error-responses.ts';
import {
  type AccountCaller,
  type Caller,
  limitedAuthorOf,
  type RequestContext,
  type RouteRegistry,
  toActor,
} from '../platform/http/route-registry.ts';
import { sendFile, toFileRequest } from '../platform/http/streams.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import {
  type AccelRedirect,
  type Content,
  type ContentDelivery,
  type PlayLinks,
  toAccelHeaders,
  VENDOR_CREDENTIAL,
  withFileName,
} from './content.ts';
import type { RefreshingTaskReader } from './poller.ts';
import { type ShareAccess, type SharedVideo, type ShareOfVideo, type ShareService, UNLOCKED_MS } from './shares.ts';
import type { Task, TaskStore } from './task-store.ts';

interface ContentRouteDependencies {
  readonly store: TaskStore;
  readonly reader: RefreshingTaskReader;
  readonly contentDelivery: ContentDelivery;
  readonly playLinks: PlayLinks;
  readonly accelRedirect: AccelRedirect;
  readonly credentialWatch: CredentialRevocationWatch;
  readonly clock: Clock;
}

/** Registers the endpoint for a video's file, which requires the token that submitted the task or a play link. */
export function addContentRoutes(
  routes: RouteRegistry,
  { store, reader, contentDelivery, playLinks, accelRedirect, credentialWatch, clock }: ContentRouteDependencies,
): void {
  const sendFile = async (
    task: Task,
    caller: Caller | undefined,
    { variant, name = task.public_id }: { readonly variant?: string | undefined; readonly name?: string | undefined },
    { request, reply }: { readonly request: RequestContext; readonly reply: FastifyReply },
  ) => {
    const watchAccess = (onEnd: () => void) =>
      caller === undefined ? () => undefined : credentialWatch.watch(caller, onEnd);
    const acceptsPath = accelRedirect.accepts(request);
    const asked = { ...toFileRequest(request), variant, watchAccess, acceptsPath };
    return sendContent(reply, withFileName(await contentDelivery.open(task, asked), name));
  };
  routes.add(endpoints.getContent, async ({ params, query, caller, request, reply }) => {
    const found = await store.findForToken(params.task_id, caller.tokenId);
    if (found === undefined) throw new AppError('content_not_found');
    // A finished video may be stored here; the vendor's URL matters only if it is not.
    const task = isTerminal(found.status) ? found : await reader.withCurrentState(found);
    return sendFile(task, caller, query, { request, reply });
  });

  routes.add(endpoints.playVideo, async ({ params, query, request, reply }) => {
    const link = { taskId: params.task_id, expires: Number(query.expires), credential: query.credential };
    if (!playLinks.verify(link, query.signature, clock.now())) throw new AppError('play_link_expired');
    const task = await store.findByPublicId(link.taskId);
    if (task === undefined || task.deleted === 1) throw new AppError('content_not_found');
    if (link.credential === VENDOR_CREDENTIAL) return sendFile(task, undefined, query, { request, reply });
    const caller = await credentialWatch.resolve(link.credential, task.user_id);
    if (caller === undefined) throw new AppError('forbidden');
    return sendFile(task, caller, query, { request, reply });
  });
}

/** Sends a video's file, or lets the proxy in front send it. */
export function sendContent(reply: FastifyReply, content: Content, stallMs?: number): FastifyReply {
  const { headers, body, path } = content;
  if (path !== undefined && reply.request.method !== 'HEAD')
    return reply.status(200).headers(toAccelHeaders(path, headers)).send(body);
  return sendFile(reply, content, stallMs);
}

interface PosterRouteDependencies {
  readonly store: TaskStore;
  readonly artifacts: Artifacts;
}

/**
 * Registers the poster endpoints. The owner's browser extracts a frame and uploads it when neither the vendor nor
 * ffmpeg supplied a poster.
 */
export function addPosterRoutes(routes: RouteRegistry, { store, artifacts }: PosterRouteDependencies): void {
  routes.add(putPoster, async ({ params, body, caller }) => {
    const task = await store.findForUser(params.task_id, caller.userId);
    if (task === undefined) throw notExistError('task');
    if (task.status !== 'SUCCESS') throw new AppError('task_not_completed', { params: { status: task.status } });
    const outcome = await artifacts.putPoster(
      { taskId: task.id, userId: task.user_id },
      Buffer.from(body.image, 'base64'),
    );
    if (outcome === undefined) throw new AppError('unavailable');
    if (outcome === 'exists') throw new AppError('already_exists', { params: { what: 'poster' } });
    if (outcome === 'invalid')
      throw invalidRequest('image must be a whole still JPEG or WebP image of at most 256 KiB.', 'image');
    return done();
  });
}

/** Values that every page of a share link is rendered with. */
interface SharePageContext {
  readonly locale: Locale;
  readonly siteName: string;
  /** Absolute URL of the page. */
  readonly url: string;
  readonly nowMs: number;
}

interface PlayerFacts {
  /** Empty if no title is shown. */
  readonly title: string;
  readonly hasPoster: boolean;
  /** Unix milliseconds. */
  readonly expiresAt: number | null;
  /** Whether metadata may describe the video; with a password, only its existence may be known. */
  readonly isPublic: boolean;
  /** Undefined if no copy of the file is stored. */
  readonly provenance: Provenance | undefined;
  /** Of the stored copy; undefined if there is none. */
  readonly mediaType: string | undefined;
}

/** Renders the page with the player. */
function playerPage(
  context: SharePageContext,
  { title, hasPoster, expiresAt, isPublic, provenance, mediaType }: PlayerFacts,
): string {
  const texts = SHARE_TEXTS[context.locale];
  const { pathname } = new URL(context.url);
  const heading = title === '' ? texts.untitled : title;
  const poster = hasPoster ? html` poster="${pathname}/poster"` : undefined;
  const section = html`<video controls playsinline preload="metadata" src="${pathname}/video"${poster} aria-label="${heading}"></video>
<div class="caption"><h1>${heading}</h1><a class="button" href="${pathname}/video" download>${texts.download}</a></div>
${provenance === undefined ? undefined : html`<p class="note hint">${describeMarks(provenance, texts)}</p>`}
${expiresAt === null ? undefined : html`<p class="note hint">${texts.until(formatExpiry(expiresAt, context))}</p>`}`;
  const head = isPublic ? openGraph(context, heading, { hasPoster, mediaType }) : plainGraph(context, texts.untitled);
  return page(context, heading, section, { head, footer: texts.footer });
}

/** The marks of generated content in the file, as on the video's own page. */
function describeMarks({ c2pa, signer, aigc }: Provenance, { origin, marks }: ShareTexts): string {
  const found = [...(c2pa === 'absent' ? [] : [marks.c2pa[c2pa](signer)]), ...(aigc ? [marks.aigc] : [])];
  return origin(found.length === 0 ? marks.none : found.join(marks.separator));
}

/**
 * Renders the password form. It reveals nothing about the video.
 * @param error message to show next to the field
 */
function lockedPage(context: SharePageContext, error?: string): string {
  const texts = SHARE_TEXTS[context.locale];
  const described = error === undefined ? undefined : html` aria-describedby="error" aria-invalid="true"`;
  const section = html`<h1>${texts.lockedTitle}</h1><p>${texts.lockedLead}</p>
<form class="short" method="post" action="${new URL(context.url).pathname}">
<input type="hidden" name="lang" value="${context.locale}">
<label for="password">${texts.password}</label>
<input id="password" name="password" type="password" maxlength="128" required autofocus autocomplete="off"${described}>
${error === undefined ? undefined : html`<p class="error hint" id="error" role="alert">${error}</p>`}
<button>${texts.show}</button>
</form>`;
  return page(context, texts.lockedTitle, section, { head: plainGraph(context, texts.lockedTitle) });
}

/** Renders the page for unknown and ended links, which look the same. */
function gonePage(context: SharePageContext, message?: string): string {
  const texts = SHARE_TEXTS[context.locale];
  return page(context, texts.goneTitle, html`<h1>${texts.goneTitle}</h1><p>${message ?? texts.goneText}</p>`);
}

interface PageParts {
  readonly head?: Markup;
  /** Where the video comes from; only below a video. */
  readonly footer?: string;
}

const page = (context: SharePageContext, title: string, section: Markup, { head, footer }: PageParts = {}): string => {
  const { locale, siteName } = context;
  const texts = SHARE_TEXTS[locale];
  const { pathname } = new URL(context.url);
  return standalonePage({
    locale,
    siteName,
    title,
    ...defined({ head, footer }),
    nav: languageLinks(locale, texts.language, (each) => `${pathname}?lang=${each}`),
    main: html`<section>${section}</section>`,
    wide: true,
  });
};

const GRAPH_LOCALES: Readonly<Record<Locale, string>> = { en: 'en_US', 'zh-CN': 'zh_CN' };

/** Open Graph metadata (ogp.me), which chats and feeds show in place of the bare link. */
const openGraph = (
  context: SharePageContext,
  title: string,
  { hasPoster, mediaType }: Pick<PlayerFacts, 'hasPoster' | 'mediaType'>,
): Markup =>
  html`${plainGraph(context, title)}<meta property="og:video" content="${context.url}/video">
${
  mediaType === undefined
    ? undefined
    : html`<meta property="og:video:type" content="${mediaType}">
`
}${
  hasPoster
    ? html`<meta property="og:image" content="${context.url}/poster">
<meta name="twitter:card" content="summary_large_image">
`
    : undefined
}`;

const plainGraph = ({ locale, siteName, url }: SharePageContext, title: string): Markup =>
  html`<meta property="og:type" content="video.other">
<meta property="og:site_name" content="${siteName}">
<meta property="og:title" content="${title}">
<meta property="og:description" content="${SHARE_TEXTS[locale].description}">
<meta property="og:url" content="${url}">
<meta property="og:locale" content="${GRAPH_LOCALES[locale]}">
`;

const HOUR_MS = 3_600_000;
const MAX_HOURS = 48;

/** As the console writes deadlines. */
const DEADLINE = {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
  timeZone: 'UTC',
} as const;

/**
 * A date in UTC with the time left: a page without scripts cannot know the reader's time zone, in which only the time
 * left is the same.
 */
function formatExpiry(at: number, { nowMs, locale }: SharePageContext): string {
  const date = new Intl.DateTimeFormat(locale, DEADLINE).format(at);
  const hours = Math.max(0, Math.round((at - nowMs) / HOUR_MS));
  const relative = new Intl.RelativeTimeFormat(locale);
  const left = hours < MAX_HOURS ? relative.format(hours, 'hour') : relative.format(Math.round(hours / 24), 'day');
  return locale === 'zh-CN' ? `${date} UTC（${left}）` : `${date} UTC (${left})`;
}

const EN = {
  language: 'Language',
  footer:
    'This video was generated with AI and shared by a link. The person who created the link can revoke it at any time.',
  untitled: 'A shared video',
  description: 'Watch the video on this page.',
  download: 'Download',
  until: (date: string) => `This link works until ${date}.`,
  origin: (marks: string) => `Origin: ${marks}.`,
  marks: {
    c2pa: {
      present: (_signer: string) => 'C2PA manifest',
      valid: (signer: string) => `C2PA manifest signed by “${signer}”, unchanged since`,
      invalid: (_signer: string) => 'C2PA manifest that does not match the file',
    },
    aigc: 'AIGC metadata',
    none: 'no mark in the file',
    separator: ', ',
  },
  lockedTitle: 'This video needs a password',
  lockedLead: 'The person who sent you the link has the password too.',
  password: 'Password',
  show: 'Show the video',
  wrongPassword: 'The password is wrong.',
  goneTitle: 'This link does not work',
  goneText: 'It was revoked, has expired, or was not copied completely. Ask the person who sent it for a new one.',
};
type ShareTexts = typeof EN;

/** Texts of the share pages. */
const SHARE_TEXTS: Readonly<Record<Locale, ShareTexts>> = {
  en: EN,
  'zh-CN': {
    language: '语言',
    footer: '此视频由 AI 生成，并通过链接分享。链接的创建者可以随时将其停用。',
    untitled: '分享的视频',
    description: '在此页面观看视频。',
    download: '下载',
    until: (date) => `此链接有效期至 ${date}。`,
    origin: (marks) => `来源标识：${marks}。`,
    marks: {
      c2pa: {
        present: () => 'C2PA 清单',
        valid: (signer) => `C2PA 清单（由“${signer}”签名，此后未被修改）`,
        invalid: () => '与文件不符的 C2PA 清单',
      },
      aigc: 'AIGC 元数据',
      none: '文件中没有标识',
      separator: '、',
    },
    lockedTitle: '观看此视频需要密码',
    lockedLead: '请向发送链接的人索取密码。',
    password: '密码',
    show: '显示视频',
    wrongPassword: '密码不正确。',
    goneTitle: '此链接无效',
    goneText: '链接已停用、已过期，或复制不完整。请向发送者索取新的链接。',
  },
};

const toSecondsOrNull = (unixMs: number | null): number | null => (unixMs === null ? null : toSeconds(unixMs));

const toShare = (row: ShareOfVideo & { readonly url: string }, { member }: AccountCaller) => ({
  id: row.id,
  task_id: row.public_id,
  prompt: member === undefined || member.seesPrompts || row.task_actor_id === member.userId ? row.prompt : '',
  url: row.url,
  title: row.title,
  has_password: row.password_hash !== null,
  created_by: row.author ?? '',
  created_time: toSeconds(row.created_at),
  expires_at: toSecondsOrNull(row.expires_at),
});

/**
 * Registers the endpoints for share links of an account's own videos. A signed-in device may create them: it can read
 * the files anyway, and the owner sees and can end every link.
 */
export function addShareRoutes(routes: RouteRegistry, shareService: ShareService): void {
  routes.add(shareEndpoints.createShare, async ({ params, body, caller, request }) => {
    const made = await shareService.create(toActor(caller, request), params.task_id, body);
    return ok({ id: made.id, url: made.url, expires_at: toSecondsOrNull(made.expiresAt) });
  });
  routes.add(shareEndpoints.listVideoShares, async ({ params, caller }) =>
    ok((await shareService.listOfVideo(caller.userId, params.task_id)).map((row) => toShare(row, caller))),
  );
  routes.add(shareEndpoints.deleteShare, async ({ params, caller, request }) => {
    await shareService.delete(toActor(caller, request), params.task_id, Number(params.id), limitedAuthorOf(caller));
    return done();
  });
  routes.add(shareEndpoints.listShares, async ({ query, caller }) => {
    const { rows, total } = await shareService.list(caller.userId, toPage(query));
    return list(
      rows.map((row) => toShare(row, caller)),
      total,
    );
  });
}

interface SharePageDependencies {
  readonly access: ShareAccess;
  readonly contentDelivery: ContentDelivery;
  readonly artifacts: Pick<Artifacts, 'findWithPoster' | 'storedFiles'>;
  readonly vendors: VendorRegistry;
  readonly baseUrl: string;
  readonly clock: Pick<Clock, 'now'>;
  /** Its name may change while the service runs. */
  readonly site: Live<{ readonly siteName: string }>;
}

/** Proves that this browser has sent the password; scoped to the link's own paths. */
const COOKIE = 'share';

/**
 * The browser must revalidate its cached file, so that an ended link shows nothing more; search engines must not index
 * it.
 */
const FILE_HEADERS = { 'cache-control': 'private, no-cache', vary: 'Cookie', 'x-robots-tag': 'noindex, nofollow' };

const pathOf = (token: string): string => `/s/${token}`;

/** Registers the page behind a share link and the files it shows. The page works without scripts. */
export function addSharePageRoutes(routes: RouteRegistry, dependencies: SharePageDependencies): void {
  const { access, baseUrl, site, clock } = dependencies;
  const isSecure = baseUrl.startsWith('https:');
  const toContext = (token: string, request: RequestContext, lang: string | undefined): SharePageContext => ({
    locale: LOCALES.find((each) => each === lang) ?? request.locale,
    siteName: site.current().siteName,
    url: baseUrl + pathOf(token),
    nowMs: clock.now(),
  });
  const hasPoster = async ({ id, vendor }: Task): Promise<boolean> =>
    (await dependencies.artifacts.findWithPoster([id])).has(id) || dependencies.vendors.get(vendor).hasCover === true;

  routes.add(shareEndpoints.sharePage, async ({ params, query, request, reply }) => {
    const context = toContext(params.token, request, query.lang);
    const shared = await access.find(params.token);
    if (shared === undefined) return send(reply, 404, gonePage(context));
    const { share, task } = shared;
    if (!access.isOpen(share, reply.request.cookies[COOKIE])) return send(reply, 200, lockedPage(context));
    const { title, expires_at: expiresAt, password_hash } = share;
    const facts = {
      title,
      expiresAt,
      hasPoster: await hasPoster(task),
      isPublic: password_hash === null,
      provenance: await dependencies.artifacts.storedFiles.findProvenance(task.id),
      mediaType: await dependencies.artifacts.storedFiles.findMediaType(task.id),
    };
    return send(reply, 200, playerPage(context, facts));
  });

  routes.add(shareEndpoints.unlockShare, async ({ params, body, request, reply }) => {
    const context = toContext(params.token, request, body.lang);
    const shared = await access.find(params.token);
    if (shared === undefined) return send(reply, 404, gonePage(context));
    const unlock = async () => {
      const proof = await access.unlock(shared.share, body.password, request.clientIp);
      if (proof === undefined) return send(reply, 403, lockedPage(context, SHARE_TEXTS[context.locale].wrongPassword));
      reply.setCookie(COOKIE, proof, {
        httpOnly: true,
        sameSite: 'lax',
        secure: isSecure,
        path: pathOf(params.token),
        maxAge: UNLOCKED_MS / 1000,
      });
      // 303, so that the browser fetches the page and never repeats the POST (RFC 9110 section 15.4.4).
      return reply.headers(PLAYER_PAGE_HEADERS).redirect(`${pathOf(params.token)}?lang=${context.locale}`, 303);
    };
    // Rate limiting and an overloaded service are shown on the form itself.
    return showErrorsAsPage(reply, context.locale, unlock, ({ status, message }) =>
      send(reply, status, lockedPage(context, message)),
    );
  });

  addFileRoutes(routes, dependencies);
}

function addFileRoutes(routes: RouteRegistry, { access, contentDelivery }: SharePageDependencies): void {
  const findOpen = async (token: string, reply: FastifyReply): Promise<SharedVideo> => {
    const shared = await access.find(token);
    if (shared === undefined) throw new AppError('content_not_found');
    if (!access.isOpen(shared.share, reply.request.cookies[COOKIE])) throw new AppError('forbidden');
    return shared;
  };
  const files = { video: shareEndpoints.shareVideo, thumbnail: shareEndpoints.sharePoster } as const;
  for (const variant of ['video', 'thumbnail'] as const)
    routes.add(files[variant], async ({ params, request, reply }) => {
      const { share, task } = await findOpen(params.token, reply);
      const content = await contentDelivery.open(task, {
        ...toFileRequest(request),
        variant,
        watchAccess: (onEnd) => access.watch(share, onEnd),
        slotKey: `viewers ${toIpLimitKey(request.clientIp)}`,
      });
      const named = withFileName(content, share.title.toLowerCase());
      return sendContent(reply, { ...named, headers: { ...named.headers, ...FILE_HEADERS } });
    });
}

const send = (reply: FastifyReply, status: number, page: string): FastifyReply =>
  reply.status(status).headers(PLAYER_PAGE_HEADERS).send(page);
