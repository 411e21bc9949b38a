import { Anchor, Group, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { VideoStatusBadge } from '../../components/task-status.tsx';
import type { VideoDetail } from '../../data/videos.ts';

/** The video this one was made from, and the videos made from it. Renders nothing without any. */
export function Lineage({ video: { source, children } }: { readonly video: Pick<VideoDetail, 'source' | 'children'> }) {
  const { t } = useTranslation('studio');
  if (source === null && children.length === 0) return null;
  return (
    <Stack gap={4} component="section" aria-label={t('lineage')} mt="xs">
      {source === null ? null : <Relative label={t(`madeFrom.${source.operation}`)} video={source} />}
      {children.map((child) => (
        <Relative key={child.task_id} label={t(`versions.${child.operation}`)} video={child} />
      ))}
    </Stack>
  );
}

interface RelativeProps {
  readonly label: string;
  readonly video: VideoDetail['children'][number];
}

function Relative({ label, video: { task_id: taskId, prompt, status } }: RelativeProps) {
  const { t } = useTranslation('studio');
  return (
    <Group gap={6} wrap="nowrap">
      <Text size="xs" c="dimmed" style={{ flexShrink: 0 }}>
        {label}
      </Text>
      <Anchor size="xs" truncate renderRoot={(props) => <Link to="/videos/$taskId" params={{ taskId }} {...props} />}>
        {prompt === '' ? t('noPrompt') : prompt}
      </Anchor>
      {status === 'SUCCESS' ? null : <VideoStatusBadge status={status} />}
    </Group>
  );
}
