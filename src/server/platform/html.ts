import { LOCALES, type Locale } from '../../contract/messages/format-message.ts';

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

interface StandalonePage {
  readonly locale: Locale;
  /** Name of the service; what an error page does not know is left out. */
  readonly siteName?: string;
  /** What the page is about, without the name of the site. */
  readonly title: string;
  /** What stands in `<head>` beside what every page has. */
  readonly head?: Markup;
  /** Links at the right of the header. */
  readonly nav?: Markup;
  readonly main: Markup;
  readonly footer?: string;
  /** For text and tables; without, the page is as wide as a form. */
  readonly wide?: boolean;
}

/** Where the mark of the service leads; its words where the service's name is not known. */
export const START_PAGE_LINKS: Readonly<Record<Locale, string>> = { en: 'To the start page', 'zh-CN': '返回首页' };

/** A page rendered by the server, in the same design as the console. It is sent with `STANDALONE_PAGE_HEADERS`. */
export function standalonePage(page: StandalonePage): string {
  const { locale, siteName, title, head, nav, main, footer, wide = false } = page;
  return html`<!doctype html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${siteName === undefined ? title : `${title} · ${siteName}`}</title>
<link rel="icon" href="/logo">
<link rel="stylesheet" href="/pages.css">
${head}</head>
<body class="${wide ? 'wide' : 'narrow'}">
<header><a class="brand" href="/"><img src="/logo" width="28" height="28" alt="${siteName === undefined ? START_PAGE_LINKS[locale] : ''}">${siteName}</a>${nav}</header>
<main>${main}</main>
${footer === undefined ? undefined : html`<footer>${footer}</footer>`}
</body>
</html>`.text;
}

const LANGUAGE_NAMES: Readonly<Record<Locale, string>> = { en: 'English', 'zh-CN': '简体中文' };

/** Links to the same page in the other languages. @param label names the choice */
export function languageLinks(locale: Locale, label: string, pathIn: (locale: Locale) => string): Markup {
  const others = LOCALES.filter((each) => each !== locale).map(
    (each) => html`<a href="${pathIn(each)}" hreflang="${each}" lang="${each}">${LANGUAGE_NAMES[each]}</a>`,
  );
  return html`<nav aria-label="${label}">${others}</nav>`;
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
