import { defined } from '../../../contract/defined.ts';
import { LOCALES, type Locale } from '../../../contract/messages/messages.ts';
import { html, Markup } from '../../platform/html.ts';
import { STYLE } from './style.ts';
import { TEXTS, type Texts } from './texts.ts';

const LANGUAGE_NAMES: Readonly<Record<Locale, string>> = { en: 'English', 'zh-CN': '简体中文' };

/** What every page is rendered with. */
export interface PageContext {
  readonly locale: Locale;
  readonly texts: Texts;
  /** The code in its displayed form; empty where there is none. */
  readonly code: string;
  /** Anti-forgery value for the form that posts to this action. */
  formValue(action: string): string;
}

/** Path of the page; carries the code and the language along. */
export function pagePath(code: string, locale: Locale, step?: string): string {
  const query = new URLSearchParams({
    ...defined({ code: code === '' ? undefined : code }),
    lang: locale,
    ...defined({ step }),
  });
  return `/authorize?${query}`;
}

/** A whole page around its one section. */
export function layout({ locale, code }: PageContext, heading: string, section: Markup): string {
  const texts = TEXTS[locale];
  const others = LOCALES.filter((each) => each !== locale).map(
    (each) => html`<a href="${pagePath(code, each)}" hreflang="${each}" lang="${each}">${LANGUAGE_NAMES[each]}</a>`,
  );
  // The style's bytes are named by hash in the policy, so nothing may stand between the tags.
  return html`<!doctype html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${heading} · Reelgate</title>
<style>${STYLE_MARKUP}</style>
</head>
<body>
<header><span class="brand">Reelgate</span><nav aria-label="${texts.language}">${others}</nav></header>
<main><section>${section}</section></main>
<footer>${texts.footer}</footer>
</body>
</html>`.text;
}

const STYLE_MARKUP = new Markup(STYLE);

/** The hidden part of a form that posts to `/authorize/<action>`. */
export function hiddenFields(view: PageContext, action: string): Markup {
  return html`<input type="hidden" name="form" value="${view.formValue(action)}"><input type="hidden" name="code" value="${view.code}"><input type="hidden" name="lang" value="${view.locale}">`;
}
