import { DAY_MS } from '../../contract/time-units.ts';
import type { AdminNotice } from '../notifications/notifier-types.ts';

/** Once a day. @param now Unix milliseconds */
export const buildAdminStorageFullNotice = (now: number): AdminNotice => ({
  type: 'system',
  topic: 'storage.full',
  title: { en: 'The space for stored videos is full', 'zh-CN': '视频存储空间已用完' },
  content: {
    en: 'The oldest stored videos are removed to make room for new ones. ARTIFACTS_MAX_GB and ARTIFACTS_MIN_FREE_GB limit the space; see docs/artifacts.md.',
    'zh-CN':
      '正在删除最早存储的视频，以便为新视频腾出空间。空间由 ARTIFACTS_MAX_GB 和 ARTIFACTS_MIN_FREE_GB 限定；处理方法见 docs/artifacts.md。',
  },
  targetUrl: '',
  deduplicationKey: `storage.full:${Math.floor(now / DAY_MS)}`,
});
