import { DAY_MS } from '../../contract/time-units.ts';
import type { AdminNotice, Bilingual } from '../notifications/notifier-types.ts';
import type { SpaceShortage } from './storage-space-reservation-and-eviction.ts';

const TEXTS: Readonly<Record<SpaceShortage, { readonly title: Bilingual; readonly content: Bilingual }>> = {
  evicting: {
    title: { en: 'The space for stored videos is full', 'zh-CN': '视频存储空间已用完' },
    content: {
      en: 'The oldest stored videos are removed to make room for new ones. ARTIFACTS_MAX_GB and ARTIFACTS_MIN_FREE_GB limit the space; see docs/artifacts.md.',
      'zh-CN':
        '正在删除最早存储的视频，以便为新视频腾出空间。空间由 ARTIFACTS_MAX_GB 和 ARTIFACTS_MIN_FREE_GB 限定；处理方法见 docs/artifacts.md。',
    },
  },
  blocked: {
    title: { en: 'New videos cannot be stored', 'zh-CN': '新视频无法存储' },
    content: {
      en: 'The device of ARTIFACTS_DIR has less free space than ARTIFACTS_MIN_FREE_GB, and removing stored videos would not help: none was removed. New videos are served by their vendors, who delete them after hours or days. Free space on the device; see docs/artifacts.md.',
      'zh-CN':
        'ARTIFACTS_DIR 所在磁盘的可用空间低于 ARTIFACTS_MIN_FREE_GB，删除已存储的视频也无济于事，因此未删除任何视频。新视频暂由供应商提供，数小时或数天后会被供应商删除。请清理磁盘空间；处理方法见 docs/artifacts.md。',
    },
  },
};

/**
 * Once a day while it lasts; a shortage that begins anew is told anew where nothing can be stored.
 *
 * @param since when it began, Unix milliseconds
 * @param now Unix milliseconds
 */
export const buildAdminStorageFullNotice = (shortage: SpaceShortage, since: number, now: number): AdminNotice => ({
  type: 'system',
  topic: 'storage.full',
  ...TEXTS[shortage],
  targetUrl: '',
  deduplicationKey: `storage.${shortage === 'blocked' ? `blocked:${since}` : 'full'}:${Math.floor(now / DAY_MS)}`,
});
