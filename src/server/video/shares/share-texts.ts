import type { Locale } from '../../../contract/localized-messages/format-message.ts';

const EN = {
  language: 'Language',
  footer:
    'This video was generated with AI and shared by a link. The person who created the link can revoke it at any time.',
  untitled: 'A shared video',
  description: 'Watch the video on this page.',
  download: 'Download',
  until: (date: string) => `This link works until ${date}.`,
  lockedTitle: 'This video needs a password',
  lockedLead: 'The person who sent you the link has the password too.',
  password: 'Password',
  show: 'Show the video',
  wrongPassword: 'The password is wrong.',
  goneTitle: 'This link does not work',
  goneText: 'It was revoked, has expired, or was not copied completely. Ask the person who sent it for a new one.',
};
export type ShareTexts = typeof EN;

/** Texts of the page of a share link. */
export const SHARE_TEXTS: Readonly<Record<Locale, ShareTexts>> = {
  en: EN,
  'zh-CN': {
    language: '语言',
    footer: '此视频由 AI 生成，并通过链接分享。链接的创建者可以随时将其停用。',
    untitled: '分享的视频',
    description: '在此页面观看视频。',
    download: '下载',
    until: (date) => `此链接有效期至 ${date}。`,
    lockedTitle: '观看此视频需要密码',
    lockedLead: '请向发送链接的人索取密码。',
    password: '密码',
    show: '显示视频',
    wrongPassword: '密码不正确。',
    goneTitle: '此链接无效',
    goneText: '链接已停用、已过期，或复制不完整。请向发送者索取新的链接。',
  },
};
