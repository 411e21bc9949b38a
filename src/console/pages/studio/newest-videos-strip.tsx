import { Anchor, Group, Loader, Title } from '@mantine/core';
import { useInViewport } from '@mantine/hooks';
import { IconAlertTriangle, IconMovie } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, useDeferredValue, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isTerminal } from '../../../contract/task-states.ts';
import type { Video } from '../../data/video-queries.ts';

/** As many as a wide screen shows of the row. */
const FIRST_COUNT = 12;

interface NewestVideosStripProps {
  readonly videos: readonly Video[];
  readonly shown: readonly string[];
  readonly onShow: (taskId: string) => void;
}

/** The newest videos in a row; arrow keys move along it. */
export function NewestVideosStrip({ videos, shown, onShow }: NewestVideosStripProps) {
  const { t } = useTranslation('studio');
  // Those beyond the end of the row come once the page is shown.
  const count = useDeferredValue(Number.POSITIVE_INFINITY, FIRST_COUNT);
  const move = (event: KeyboardEvent<HTMLElement>): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const buttons = [...event.currentTarget.querySelectorAll('button')];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
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
      <div className="strip" onKeyDown={move}>
        {videos.slice(0, count).map((video) => (
          <Thumbnail
            key={video.task_id}
            video={video}
            active={shown.includes(video.task_id)}
            onShow={() => onShow(video.task_id)}
          />
        ))}
      </div>
    </section>
  );
}

interface ThumbnailProps {
  readonly video: Video;
  readonly active: boolean;
  readonly onShow: () => void;
}

/** Its picture comes once it is in sight: `loading="lazy"` would load many beyond the end of the row. */
function Thumbnail({ video, active, onShow }: ThumbnailProps) {
  const { t } = useTranslation('studio');
  const prompt = video.prompt === '' ? t('noPrompt') : video.prompt;
  const [hasFailed, setFailed] = useState(false);
  const { ref, inViewport } = useInViewport<HTMLButtonElement>();
  const [wasSeen, setSeen] = useState(false);
  if (inViewport && !wasSeen) setSeen(true);
  return (
    <button
      ref={ref}
      type="button"
      className="thumbnail mantine-focus-auto"
      aria-label={`${prompt} · ${t(`stage.${video.status}`)}`}
      aria-pressed={active}
      onClick={onShow}
    >
      {wasSeen && video.poster_url !== '' && !hasFailed ? (
        <img src={video.poster_url} alt="" onError={() => setFailed(true)} />
      ) : (
        <span className="thumbnail-state">
          {video.status === 'FAILURE' ? (
            <IconAlertTriangle size={20} />
          ) : isTerminal(video.status) ? (
            <IconMovie size={20} />
          ) : (
            <Loader size="xs" />
          )}
        </span>
      )}
      <span className="thumbnail-title">{prompt}</span>
    </button>
  );
}
