import { Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { VideoStatusBadge } from '../../components/task-status.tsx';
import { VideoTile } from '../../components/video-player.tsx';
import type { VideoDetail } from '../../data/videos.ts';

/** The video this one was made from, and the videos made from it. Renders nothing without any. */
export function Lineage({ video: { source, children } }: { readonly video: Pick<VideoDetail, 'source' | 'children'> }) {
  const { t } = useTranslation('library');
  if (source === null && children.length === 0) return null;
  return (
    <section className="lineage" aria-label={t('lineage')}>
      {source === null ? null : <Relative label={t(`madeFrom.${source.operation}`)} video={source} />}
      {children.map((child) => (
        <Relative key={child.task_id} label={t(`versions.${child.operation}`)} video={child} />
      ))}
    </section>
  );
}

interface RelativeProps {
  readonly label: string;
  readonly video: VideoDetail['children'][number];
}

function Relative({ label, video: { task_id: taskId, prompt, status } }: RelativeProps) {
  const { t } = useTranslation('studio');
  return (
    <Link to="/videos/$taskId" params={{ taskId }} className="relative mantine-focus-auto">
      <VideoTile taskId={taskId} isFinished={status === 'SUCCESS'} />
      <span>
        <Text span size="xs" c="dimmed" display="block">
          {label}
        </Text>
        <Text span size="xs" lineClamp={2}>
          {prompt === '' ? t('noPrompt') : prompt}
        </Text>
        {status === 'SUCCESS' ? null : <VideoStatusBadge status={status} />}
      </span>
    </Link>
  );
}
