import { LOCALES, type Locale } from '../../contract/localized-messages/format-message.ts';
import { html, type Markup } from './html-template.ts';

export interface StandalonePage {
  readonly locale: Locale;
  /** Name of the service; what an error page does not know is left out. */
  readonly siteName?: string;
  /** What the page is about, without the name of the site. */
  readonly title: string;
  /** What stands in `<head>` beside what every page has. */
  readonly head?: Markup | undefined;
  /** Links at the right of the header. */
  readonly nav?: Markup | undefined;
  readonly main: Markup;
  readonly footer?: string | undefined;
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
