/** Markup that is safe to send: made by `html`, or from a text of our own. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type TemplateValue = string | number | Markup | undefined | readonly Markup[];

/** Text as it may stand anywhere in HTML, attribute values in quotes included. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Markup from a template: whatever is put in is escaped, unless it is markup itself; undefined is nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly TemplateValue[]): Markup {
  return new Markup(parts.reduce((text, part, index) => `${text}${toMarkup(values[index - 1])}${part}`));
}

function toMarkup(piece: TemplateValue): string {
  if (piece === undefined) return '';
  if (piece instanceof Markup) return piece.text;
  return typeof piece === 'object' ? piece.map(toMarkup).join('') : escapeHtml(`${piece}`);
}

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
