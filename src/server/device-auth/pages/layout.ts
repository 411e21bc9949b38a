import type { Locale } from '../../../contract/localized-messages/format-message.ts';
import { defined } from '../../../contract/omit-undefined.ts';
import { html, languageLinks, type Markup, standalonePage } from '../../platform/html.ts';
import { TEXTS, type Texts } from './texts.ts';

/** What every page is rendered with. */
export interface PageContext {
  readonly locale: Locale;
  readonly siteName: string;
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
export function layout({ locale, siteName, code }: PageContext, heading: string, section: Markup): string {
  const texts = TEXTS[locale];
  const nav = languageLinks(locale, texts.language, (each) => pagePath(code, each));
  return standalonePage({
    locale,
    siteName,
    title: heading,
    nav,
    main: html`<section>${section}</section>`,
    footer: texts.footer,
  });
}

/** The hidden part of a form that posts to `/authorize/<action>`. */
export function hiddenFields(view: PageContext, action: string): Markup {
  return html`<input type="hidden" name="form" value="${view.formValue(action)}"><input type="hidden" name="code" value="${view.code}"><input type="hidden" name="lang" value="${view.locale}">`;
}
