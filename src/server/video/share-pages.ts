import type { Locale } from '../../contract/messages/format-message.ts';
import { defined } from '../../contract/objects.ts';
import type { Provenance } from '../artifacts/provenance.ts';
import { html, languageLinks, type Markup, standalonePage } from '../platform/html.ts';

/** Values that every page of a share link is rendered with. */
export interface SharePageContext {
  readonly locale: Locale;
  readonly siteName: string;
  /** Absolute URL of the page. */
  readonly url: string;
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
}

/** Renders the page with the player. */
export function playerPage(
  context: SharePageContext,
  { title, hasPoster, expiresAt, isPublic, provenance }: PlayerFacts,
): string {
  const texts = SHARE_TEXTS[context.locale];
  const { pathname } = new URL(context.url);
  const heading = title === '' ? texts.untitled : title;
  const poster = hasPoster ? html` poster="${pathname}/poster"` : undefined;
  const section = html`<video controls playsinline preload="metadata" src="${pathname}/video"${poster} aria-label="${heading}"></video>
<div class="caption"><h1>${heading}</h1><a class="button" href="${pathname}/video" download="video.mp4">${texts.download}</a></div>
${provenance === undefined ? undefined : html`<p class="note hint">${describeMarks(provenance, texts)}</p>`}
${expiresAt === null ? undefined : html`<p class="note hint">${texts.until(formatUtc(expiresAt, context.locale))}</p>`}`;
  const head = isPublic ? openGraph(context, heading, hasPoster) : plainGraph(context, texts.untitled);
  return page(context, heading, section, { head, footer: texts.footer });
}

/** The marks of generated content in the file, as on the video's own page. */
function describeMarks({ c2pa, aigc }: Provenance, { origin, marks }: ShareTexts): string {
  const found = [...(c2pa ? [marks.c2pa] : []), ...(aigc ? [marks.aigc] : [])];
  return origin(found.length === 0 ? marks.none : found.join(marks.separator));
}

/**
 * Renders the password form. It reveals nothing about the video.
 * @param error message to show next to the field
 */
export function lockedPage(context: SharePageContext, error?: string): string {
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
export function gonePage(context: SharePageContext, message?: string): string {
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
const openGraph = (context: SharePageContext, title: string, hasPoster: boolean): Markup =>
  html`${plainGraph(context, title)}<meta property="og:video" content="${context.url}/video">
<meta property="og:video:type" content="video/mp4">
${
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

/** In UTC, because a page without scripts cannot know the reader's time zone. */
const formatUtc = (at: number, locale: Locale): string =>
  `${new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(at)} UTC`;

const EN = {
  language: 'Language',
  footer:
    'This video was generated with AI and shared by a link. The person who created the link can revoke it at any time.',
  untitled: 'A shared video',
  description: 'Watch the video on this page.',
  download: 'Download',
  until: (date: string) => `This link works until ${date}.`,
  origin: (marks: string) => `Origin: ${marks}.`,
  marks: { c2pa: 'C2PA manifest', aigc: 'AIGC metadata', none: 'no mark in the file', separator: ', ' },
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
export const SHARE_TEXTS: Readonly<Record<Locale, ShareTexts>> = {
  en: EN,
  'zh-CN': {
    language: '语言',
    footer: '此视频由 AI 生成，并通过链接分享。链接的创建者可以随时将其停用。',
    untitled: '分享的视频',
    description: '在此页面观看视频。',
    download: '下载',
    until: (date) => `此链接有效期至 ${date}。`,
    origin: (marks) => `来源标识：${marks}。`,
    marks: { c2pa: 'C2PA 清单', aigc: 'AIGC 元数据', none: '文件中没有标识', separator: '、' },
    lockedTitle: '观看此视频需要密码',
    lockedLead: '请向发送链接的人索取密码。',
    password: '密码',
    show: '显示视频',
    wrongPassword: '密码不正确。',
    goneTitle: '此链接无效',
    goneText: '链接已停用、已过期，或复制不完整。请向发送者索取新的链接。',
  },
};
