import type { FastifyReply } from 'fastify';
import { LOCALES } from '../../contract/messages/format-message.ts';
import { done, list, ok, toPage } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import * as endpoints from '../../contract/video-shares.ts';
import type { Artifacts } from '../artifacts/module.ts';
import { AppError } from '../platform/app-error.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Live } from '../platform/config.ts';
import { PLAYER_PAGE_HEADERS } from '../platform/html.ts';
import { showErrorsAsHtmlPage } from '../platform/http/error-responses.ts';
import { type AccountCaller, limitedAuthorOf, type RequestContext, toActor } from '../platform/http/request-context.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { toFileRequest } from '../platform/http/send-file.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import type { ContentDelivery } from './content.ts';
import { sendContent } from './content-routes.ts';
import { gonePage, lockedPage, playerPage, SHARE_TEXTS, type SharePageContext } from './share-pages.ts';
import { type ShareAccess, type SharedVideo, type ShareOfVideo, type ShareService, UNLOCKED_MS } from './shares.ts';
import type { Task } from './task-store.ts';

const toSecondsOrNull = (unixMs: number | null): number | null => (unixMs === null ? null : toSeconds(unixMs));

const toShare = (row: ShareOfVideo & { readonly url: string }, { member }: AccountCaller) => ({
  id: row.id,
  task_id: row.public_id,
  prompt: member === undefined || member.seesPrompts || row.task_actor_id === member.userId ? row.prompt : '',
  url: row.url,
  title: row.title,
  has_password: row.password_hash !== null,
  created_time: toSeconds(row.created_at),
  expires_at: toSecondsOrNull(row.expires_at),
});

/**
 * Registers the endpoints for share links of an account's own videos. A signed-in device may create them: it can read
 * the files anyway, and the owner sees and can end every link.
 */
export function addShareRoutes(routes: RouteRegistry, shareService: ShareService): void {
  routes.add(endpoints.createShare, async ({ params, body, caller, request }) => {
    const made = await shareService.create(toActor(caller, request), params.task_id, body);
    return ok({ id: made.id, url: made.url, expires_at: toSecondsOrNull(made.expiresAt) });
  });
  routes.add(endpoints.listVideoShares, async ({ params, caller }) =>
    ok((await shareService.listOfVideo(caller.userId, params.task_id)).map((row) => toShare(row, caller))),
  );
  routes.add(endpoints.deleteShare, async ({ params, caller, request }) => {
    await shareService.delete(toActor(caller, request), params.task_id, Number(params.id), limitedAuthorOf(caller));
    return done();
  });
  routes.add(endpoints.listShares, async ({ query, caller }) => {
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
  const { access, baseUrl, site } = dependencies;
  const isSecure = baseUrl.startsWith('https:');
  const toContext = (token: string, request: RequestContext, lang: string | undefined): SharePageContext => ({
    locale: LOCALES.find((each) => each === lang) ?? request.locale,
    siteName: site.current().siteName,
    url: baseUrl + pathOf(token),
  });
  const hasPoster = async ({ id, vendor }: Task): Promise<boolean> =>
    (await dependencies.artifacts.findWithPoster([id])).has(id) || dependencies.vendors.get(vendor).hasCover === true;

  routes.add(endpoints.sharePage, async ({ params, query, request, reply }) => {
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
    };
    return send(reply, 200, playerPage(context, facts));
  });

  routes.add(endpoints.unlockShare, async ({ params, body, request, reply }) => {
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
    return showErrorsAsHtmlPage(reply, context.locale, unlock, ({ status, message }) =>
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
  const files = { video: endpoints.shareVideo, thumbnail: endpoints.sharePoster } as const;
  for (const variant of ['video', 'thumbnail'] as const)
    routes.add(files[variant], async ({ params, request, reply }) => {
      const { share, task } = await findOpen(params.token, reply);
      const content = await contentDelivery.open(task, {
        ...toFileRequest(request),
        variant,
        watchAccess: (onEnd) => access.watch(share, onEnd),
        slotKey: `viewers ${toIpLimitKey(request.clientIp)}`,
      });
      return sendContent(reply, { ...content, headers: { ...content.headers, ...FILE_HEADERS } });
    });
}

const send = (reply: FastifyReply, status: number, page: string): FastifyReply =>
  reply.status(status).headers(PLAYER_PAGE_HEADERS).send(page);
