import type { Announcement } from '../../../data/admin-types.ts';

/** An announcement as its form holds it. */
export interface AnnouncementFormValues {
  readonly title: string;
  readonly content: string;
  readonly inChinese: boolean;
  readonly titleChinese: string;
  readonly contentChinese: string;
  readonly target: string;
}

export const toAnnouncementFormValues = (known: Announcement | undefined): AnnouncementFormValues => ({
  title: known?.title ?? '',
  content: known?.content ?? '',
  inChinese: known?.zh_cn != null,
  titleChinese: known?.zh_cn?.title ?? '',
  contentChinese: known?.zh_cn?.content ?? '',
  target: known?.target_url ?? '',
});

export const toAnnouncementBody = (draft: AnnouncementFormValues) => ({
  title: draft.title.trim(),
  content: draft.content.trim(),
  zh_cn: draft.inChinese ? { title: draft.titleChinese.trim(), content: draft.contentChinese.trim() } : null,
  target_url: draft.target.trim(),
});
