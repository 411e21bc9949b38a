/**
 * Headers of a page that stands alone: no script; style sheet, font and mark of this service; forms to this origin only, no
 * framing, no caching or indexing, and no referrer that would reveal its URL to other sites.
 */
export const STANDALONE_PAGE_HEADERS = toStandalonePageHeaders();
/** The same of a page that plays videos of this service. */
export const PLAYER_PAGE_HEADERS = toStandalonePageHeaders(["media-src 'self'"]);

function toStandalonePageHeaders(media: readonly string[] = []): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self'",
    ...media,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'x-robots-tag': 'noindex, nofollow',
    'cache-control': 'no-store',
  };
}
