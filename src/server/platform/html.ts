import { LOCALES, type Locale } from '../../contract/messages/format-message.ts';

/** Markup that is safe to send: created by `html`, or from a constant text of ours. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type TemplateValue = string | number | Markup | undefined | readonly Markup[];

/** Text escaped for any position in HTML, including quoted attribute values. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Markup from a template: inserted values are escaped unless they are markup; undefined inserts nothing. */
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
  /** Name of the service; omitted on error pages that do not know it. */
  readonly siteName?: string;
  /** Title of the page, without the name of the site. */
  readonly title: string;
  /** Content of `<head>` in addition to that of all pages. */
  readonly head?: Markup;
  /** Links at the right of the header. */
  readonly nav?: Markup;
  readonly main: Markup;
  readonly footer?: string;
  /** A wide layout for text and tables; otherwise the page is as wide as a form. */
  readonly wide?: boolean;
}

/** Label of the link behind the service's logo, used when the service's name is not known. */
export const START_PAGE_LINKS: Readonly<Record<Locale, string>> = { en: 'To the start page', 'zh-CN': '返回首页' };

/** A page rendered by the server, in the same design as the console. Send it with `STANDALONE_PAGE_HEADERS`. */
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

/**
 * Links to the same page in the other languages.
 * @param label names the choice
 */
export function languageLinks(locale: Locale, label: string, pathIn: (locale: Locale) => string): Markup {
  const others = LOCALES.filter((each) => each !== locale).map(
    (each) => html`<a href="${pathIn(each)}" hreflang="${each}" lang="${each}">${LANGUAGE_NAMES[each]}</a>`,
  );
  return html`<nav aria-label="${label}">${others}</nav>`;
}

const SCRIPT_SOURCES = ["script-src 'self'", "connect-src 'self'"];

/**
 * Headers of a standalone page: no scripts; style sheet, font and logo only from this service; forms only to this
 * origin; no framing, caching or indexing; and no referrer that would reveal its URL to other sites.
 */
export const STANDALONE_PAGE_HEADERS = toStandalonePageHeaders();
/** Like `STANDALONE_PAGE_HEADERS`, for a page with a script of this service, which may call this service. */
export const SCRIPTED_PAGE_HEADERS = toStandalonePageHeaders(SCRIPT_SOURCES);
/** Like `STANDALONE_PAGE_HEADERS`, for a page that plays videos of this service. */
export const PLAYER_PAGE_HEADERS = toStandalonePageHeaders(["media-src 'self'"]);

/**
 * Without an opener policy: web applications open the consent page in a window of its own, and would neither learn that it
 * was closed nor hear from their callback in it.
 */
function toStandalonePageHeaders(additions: readonly string[] = []): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self'",
    ...additions,
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
    'x-robots-tag': 'noindex, nofollow',
    'cache-control': 'no-store',
  };
}
