import { Anchor, Group, Loader, Title } from '@mantine/core';
import { IconAlertTriangle, IconMovie } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, useDeferredValue } from 'react';
import { useTranslation } from 'react-i18next';
import { isTerminal } from '../../../contract/task-states.ts';
import { HoverClip } from '../../components/video-player.tsx';
import type { Video } from '../../data/videos.ts';
import { Prompt, RemixButtons, VideoFacts } from './current-video.tsx';
import type { RemixActions } from './remix-actions.ts';
import type { VideoGroup } from './video-groups.ts';

/** Rows rendered with the page; the others follow after the first paint. */
const FIRST_ROWS = 1;

interface ResultStackProps {
  readonly groups: readonly VideoGroup[];
  readonly actions: RemixActions;
  readonly onOpen: (taskId: string) => void;
}

/** Earlier results with their prompts, newest first; the arrow keys move between the videos. */
export function ResultStack({ groups, actions, onOpen }: ResultStackProps) {
  const { t } = useTranslation('studio');
  const count = useDeferredValue(Number.POSITIVE_INFINITY, FIRST_ROWS);
  if (groups.length === 0) return null;
  const move = (event: KeyboardEvent<HTMLElement>): void => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>('.tile')];
    const at = buttons.indexOf(document.activeElement as HTMLElement);
    if (step === undefined || at < 0) return;
    event.preventDefault();
    buttons[at + step]?.focus();
  };
  return (
    <section aria-label={t('recent')}>
      <Group justify="space-between" mb="xs">
        <Title order={2}>{t('recent')}</Title>
        <Anchor size="sm" renderRoot={(props) => <Link to="/videos" {...props} />}>
          {t('seeAll')}
        </Anchor>
      </Group>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys move between the buttons inside */}
      <div className="result-stack" onKeyDown={move}>
        {groups.slice(0, count).map((group) => (
          <ResultRow key={group[0]?.task_id} group={group} actions={actions} onOpen={onOpen} />
        ))}
      </div>
    </section>
  );
}

interface ResultRowProps {
  readonly group: VideoGroup;
  readonly actions: RemixActions;
  readonly onOpen: (taskId: string) => void;
}

function ResultRow({ group, actions, onOpen }: ResultRowProps) {
  const { t } = useTranslation('studio');
  const [video] = group;
  if (video === undefined) return null;
  return (
    <article className="result" aria-label={video.prompt === '' ? t('noPrompt') : video.prompt}>
      <div className="result-media" data-count={group.length}>
        {group.map((each) => (
          <ResultTile key={each.task_id} video={each} onOpen={() => onOpen(each.task_id)} />
        ))}
      </div>
      <div className="result-info">
        <Prompt text={video.prompt} lines={3} />
        <VideoFacts video={video} quiet />
        <RemixButtons video={video} actions={actions} compact />
      </div>
    </article>
  );
}

function ResultTile({ video, onOpen }: { readonly video: Video; readonly onOpen: () => void }) {
  const { t } = useTranslation('studio');
  const prompt = video.prompt === '' ? t('noPrompt') : video.prompt;
  return (
    <button
      type="button"
      className="tile mantine-focus-auto"
      aria-label={`${prompt} · ${t(`stage.${video.status}`)}`}
      onClick={onOpen}
    >
      {video.status === 'SUCCESS' ? (
        <HoverClip video={video} fallback={<IconMovie size={22} />} />
      ) : video.status === 'FAILURE' ? (
        <IconAlertTriangle size={22} />
      ) : isTerminal(video.status) ? (
        <IconMovie size={22} />
      ) : (
        <Loader size="xs" />
      )}
    </button>
  );
}
