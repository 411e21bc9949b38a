import { readOrganization, readUserId } from './data/browser-storage.ts';
import { embeddedStatus, NEWEST_VIDEOS_COUNT, startsAtStudio } from './page-start.ts';
import { LOCALES, preferredLanguage } from './strings/preferred-language.ts';

/**
 * A separate script that runs before the rest of the page has loaded. For the studio, where most visits start, it sends
 * the requests that the large scripts would only send once they run; they find the responses in `firstResponses`.
 */
declare global {
  /** Pending responses by path and query; each is used once. */
  var firstResponses: Map<string, Promise<Response>> | undefined;
}

/** Set by the build (vite-plugins.ts): the studio's scripts, and its texts by language. */
declare const STUDIO_SCRIPTS: readonly string[];
declare const STUDIO_TEXTS: Readonly<Record<string, string>>;

function begin(userId: number, userHeader: string): void {
  const language = preferredLanguage();
  for (const href of [...STUDIO_SCRIPTS, STUDIO_TEXTS[language]])
    document.head.append(
      Object.assign(document.createElement('link'), { rel: 'modulepreload', crossOrigin: '', href }),
    );
  const responses = new Map<string, Promise<Response>>();
  globalThis.firstResponses = responses;
  const organization = readOrganization();
  const headers = {
    accept: 'application/json',
    'accept-language': LOCALES[language],
    [userHeader]: String(userId),
  };
  if (organization !== undefined) Object.assign(headers, { 'x-organization': organization });
  for (const path of ['/api/user/self', '/api/models', `/api/videos?page=1&page_size=${NEWEST_VIDEOS_COUNT}`]) {
    const response = fetch(path, { headers });
    // Avoids an unhandled rejection; the consumer of the response handles the failure.
    response.catch(() => {});
    responses.set(path, response);
  }
}

const userId = readUserId();
if (userId !== undefined && embeddedStatus !== undefined && startsAtStudio())
  begin(userId, embeddedStatus.api_user_header);
